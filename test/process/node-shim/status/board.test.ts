// Tests a status file whose write hangs, as in a network file system without an answer. A pipe without a reader hangs.
import { execFileSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { statusBoard } from "../../../../node-shim/status/board.ts";
import { sparePath } from "../../../../node-shim/status/status-file.ts";
import { eventually } from "../../../node-shim/base/eventually.ts";
import { temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

it("a write that hangs → the status is elsewhere after five seconds, and at once the next time", async () => {
  const { path, remove } = temporaryFolder();
  const hangs = join(path, "status.json.new");
  const spare = sparePath(path, path);
  execFileSync("mkfifo", [hangs]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const lines: string[] = [];
  const { note, written } = statusBoard({
    name: "edge-7",
    origin: "https://a.example",
    state: path,
    bootID: "b",
    environment: {},
    root: path,
    nowMs: () => 0,
    log: (_, line) => lines.push(line),
  });
  note({ thumbprint: "first" });
  await eventually(() => vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(4999);
  expect(existsSync(spare)).toBe(false);
  vi.advanceTimersByTime(1);
  await written();
  note({ thumbprint: "second" });
  await written();
  expect(lines).toEqual([
    `status: ${path}/status.json cannot be written within 5 s; ${spare} has the status until the fault is over`,
  ]);
  vi.useRealTimers();
  closeSync(openSync(hangs, constants.O_RDONLY | constants.O_NONBLOCK));
  remove();
});
