// Tests programs that hang, fail, print without end or leave processes: the shim's result, and the remaining processes.
import { failure, type Result, success } from "../../../../shared/result.ts";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
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

it.each([
  ["a missing interpreter", "#!/no/such\n"],
  ["the line ends of Windows", "#!/bin/sh\r\necho\r\n"],
])("a program of a folder with %s → its first line is named", async (_, text) => {
  writeFileSync(join(folder.path, "program"), text, { mode: 0o755 });
  const opened = openSync(folder.path, "r");
  const options = { program: "program", folder: opened, args: [], deadlineMs: LONG_MS, maxBytes: 1 };
  const why =
    "cannot be started (ENOENT): its first line (#!) names a program that is missing, or ends in CR";
  expect(await runChild(options)).toEqual(failure(why));
  closeSync(opened);
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

  it("hangs, and so does what it has started → both are killed then, and not before", async () => {
    const pid = join(folder.path, "pid");
    let reading: Result<string> | null = null;
    const script = `sleep 600 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; wait`;
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

  it("cannot be killed → the result comes, and the child does not keep this process open", async () => {
    const pid = join(folder.path, "pid");
    const kill = vi.spyOn(process, "kill").mockReturnValue(true);
    const children = () => process.getActiveResourcesInfo().filter((kind) => kind === "ProcessWrap").length;
    const before = children();
    const reading = shell(`echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 600`, 2000);
    await eventually(() => existsSync(pid)).toBe(true);
    vi.advanceTimersByTime(2000);
    expect([await reading, children()]).toEqual([failure("did not end within 2 s"), before]);
    kill.mockRestore();
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
  });
});

describe("a program that ends, but leaves a process that holds its output", () => {
  it.each([
    ["ends well", "echo out", "exit 0", success("out\n")],
    ["fails", "echo why >&2", "exit 3", failure("ended with 3: why")],
    ["is killed", "echo out", "kill -KILL $$", failure("was ended by SIGKILL")],
  ])("%s → its own result counts, and the process is killed", async (_, print, end, reading) => {
    const pid = join(folder.path, "pid");
    expect(await shell(`${print}; sleep 600 & echo $! > ${pid}; ${end}`)).toEqual(reading);
    await eventually(processOf(pid).isRunning).toBe(false);
  });

  it("the process has a session of its own → the program's result counts", async () => {
    const pid = join(folder.path, "pid");
    expect(await shell(`setsid sleep 600 & echo $! > ${pid}; echo out`)).toEqual(success("out\n"));
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
  });

  it("a long output, of which the shim has read nothing yet → whole", async () => {
    const reading = await shell("sleep 600 & head -c 60000 /dev/zero | tr '\\0' x", LONG_MS, 60_000);
    expect(reading).toEqual(success("x".repeat(60_000)));
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
