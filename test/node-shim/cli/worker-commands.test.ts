// Tests the line about a wait: written only on a terminal, never wider than the terminal, and removed at the end. Tests
// the next step after `join`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, test } from "vitest";
import { nextStep, progressLine } from "../../../node-shim/cli/worker-commands.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

function written(stream: { isTTY?: boolean; columns?: number }, texts: string[]): string {
  let all = "";
  const { show, clear } = progressLine({ ...stream, write: (text) => (all += text) }, "waiting: ");
  for (const text of texts) show(text);
  clear();
  return all;
}
const CLEAR = "\r\u{1B}[K";

test.each<[situation: string, stream: { isTTY?: boolean; columns?: number }, texts: string[], all: string]>([
  ["a terminal", { isTTY: true, columns: 80 }, ["a", "b"], `${CLEAR}waiting: a${CLEAR}waiting: b${CLEAR}`],
  ["the same text again", { isTTY: true, columns: 80 }, ["a", "a"], `${CLEAR}waiting: a${CLEAR}`],
  ["a narrow terminal", { isTTY: true, columns: 12 }, ["abcdef"], `${CLEAR}waiting: ab${CLEAR}`],
  ["a pipe", {}, ["a", "b"], ""],
])("%s", (_situation, stream, texts, all) => {
  expect(written(stream, texts)).toBe(all);
});

it("no wait → nothing is written", () => {
  expect(written({ isTTY: true }, [])).toBe("");
});

test.each<[situation: string, isPackaged: boolean, given: string[], next: RegExp]>([
  [
    "no service",
    false,
    ["--node-labels=a=b"],
    /^`node-shim install-service --node-labels=a=b`, or `node-shim run --node-labels=a=b`$/,
  ],
  ["a package's service", true, [], /^systemctl start rollcall-node-shim/],
  ["a package's service that has the flags", true, ["--node-labels=c=d"], /^systemctl start/],
  [
    "a package's service without the flags",
    true,
    ["--hostname-override=edge-1"],
    /^the service does not have --hostname-override=edge-1: add it to NODE_SHIM_FLAGS=/,
  ],
])("after join, %s → the step that starts the shim with its flags", (_, isPackaged, given, next) => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  const units = join(path, "usr/lib/systemd/system");
  mkdirSync(units, { recursive: true });
  if (isPackaged)
    writeFileSync(
      join(units, "rollcall-node-shim.service"),
      "[Service]\nExecStart=/usr/bin/node-shim run --node-labels=c=d\n",
    );
  expect(nextStep(path, given)).toMatch(next);
});
