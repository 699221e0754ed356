// Tests programs that hang, fail, print without end or leave processes: the shim's result, and the remaining processes.
import { failure, type Result, success } from "../../../../shared/result.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { runChild } from "../../../../node-shim/base/child.ts";
import { eventually } from "../../../node-shim/base/eventually.ts";
import { temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const LONG_MS = 60_000;
const shell = (script: string, deadlineMs = LONG_MS, maxBytes = 1000) =>
  runChild({ program: "/bin/sh", args: ["-c", script], deadlineMs, maxBytes });

test.each([
  ["ends well", "echo out; echo err >&2", success("out\n")],
  ["fails with a reason", "echo first >&2; echo why >&2; exit 3", failure("ended with 3: why")],
  ["fails and prints nothing", "exit 1", failure("ended with 1")],
  ["another process kills", "kill -TERM $$", failure("was ended by SIGTERM")],
  ["writes too much", "yes", failure("wrote more than 1000 bytes")],
  ["reads its standard input", "cat", success("")],
])("a program that %s", async (_, script, reading) => {
  expect(await shell(script)).toEqual(reading);
});

it("a program that is not there → an error", async () => {
  const reading = await runChild({ program: "/no/such", args: [], deadlineMs: LONG_MS, maxBytes: 1 });
  expect(reading).toEqual(failure("spawn /no/such ENOENT"));
});

it("output at the limit → accepted", async () => {
  expect(await shell("printf 12345", LONG_MS, 5)).toEqual(success("12345"));
  expect(await shell("printf 123456", LONG_MS, 5)).toEqual(failure("wrote more than 5 bytes"));
});

describe("the deadline", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["hangs, and so does what it has started", "wait"],
    ["ends, but what it has started holds its output", "exit 0"],
  ])("%s → both are killed then, and not before", async (_, end) => {
    const pid = join(folder.path, "pid");
    let reading: Result<string> | null = null;
    const script = `sleep 600 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; ${end}`;
    void shell(script, 2000).then((read) => (reading = read));
    await eventually(() => existsSync(pid)).toBe(true);
    const { isRunning } = processOf(pid);
    vi.advanceTimersByTime(1999);
    await new Promise((resolve) => void setImmediate(resolve));
    expect([reading, isRunning()]).toEqual([null, true]);
    vi.advanceTimersByTime(1);
    await eventually(() => reading).toEqual(failure("did not end within 2 s"));
    await eventually(isRunning).toBe(false);
  });
});

it("a program sees none of the shim's secrets", async () => {
  process.env["ROLLCALL_JOIN_TOKEN"] = "rcj1_secret";
  const reading = await shell("env");
  delete process.env["ROLLCALL_JOIN_TOKEN"];
  expect(reading).toEqual(success(expect.not.stringContaining("secret") as string));
});

function processOf(pidFile: string) {
  const pid = readFileSync(pidFile, "utf8").trim();
  // A process does not run if it is a zombie, which its parent has not reaped yet.
  const isRunning = () =>
    existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  return { isRunning };
}
