// Programs that hang, fail, flood or leave others behind: what the shim gets, and what is left running.
import { failure, success } from "../../../shared/result.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import { runChild } from "../../../node-shim/base/child.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";

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
  ["fails and says why", "echo first >&2; echo why >&2; exit 3", failure("ended with 3: why")],
  ["fails without a word", "exit 1", failure("ended with 1")],
  ["is killed by somebody", "kill -TERM $$", failure("was ended by SIGTERM")],
  ["writes too much", "yes", failure("wrote more than 1000 bytes")],
  ["reads its standard input", "cat", success("")],
])("a program that %s", async (_, script, reading) => {
  expect(await shell(script)).toEqual(reading);
});

it("a program that is not there → an error", async () => {
  const reading = await runChild({ program: "/no/such", args: [], deadlineMs: LONG_MS, maxBytes: 1 });
  expect(reading).toEqual(failure("spawn /no/such ENOENT"));
});

it("at the limit → taken", async () => {
  expect(await shell("printf 12345", LONG_MS, 5)).toEqual(success("12345"));
  expect(await shell("printf 123456", LONG_MS, 5)).toEqual(failure("wrote more than 5 bytes"));
});

it("hangs, and so does what it has started → both are killed at the deadline", async () => {
  const pid = join(folder.path, "pid");
  const reading = await shell(`sleep 600 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; wait`, 2000);
  expect(reading).toEqual(failure("did not end within 2 s"));
  const { isRunning } = processOf(pid);
  await expect.poll(isRunning).toBe(false);
});

it("ends, but what it has started holds its output → over at the deadline", async () => {
  expect(await shell("sleep 600 & exit 0", 1000)).toEqual(failure("did not end within 1 s"));
});

it("sees none of the shim's secrets", async () => {
  process.env["ROLLCALL_JOIN_TOKEN"] = "rcj1_secret";
  const reading = await shell("env");
  delete process.env["ROLLCALL_JOIN_TOKEN"];
  expect(reading).toEqual(success(expect.not.stringContaining("secret") as string));
});

function processOf(pidFile: string) {
  const pid = readFileSync(pidFile, "utf8").trim();
  // A zombie that nobody has waited for yet is dead as well.
  const isRunning = () =>
    existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  return { isRunning };
}
