// Tests programs that must not be interrupted: how they end, which output is quoted, and what delays their end.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { failure, success } from "../../../../../shared/result.ts";
import { runToItsEnd } from "../../../../../node-shim/service/package.ts";
import { eventually } from "../../../../node-shim/base/eventually.ts";
import { ROOT, temporaryFolder } from "../../../../node-shim/base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const LONG_MS = 60_000;
const environment = { PATH: "/usr/bin:/bin", GIVEN: "yes" };
const shell = (script: string, deadlineMs = LONG_MS, graceMs = LONG_MS) =>
  runToItsEnd({ program: "/bin/sh", args: ["-c", script], environment, deadlineMs, graceMs });

test.each([
  ["ends well", "echo out; echo err >&2", success(null)],
  [
    "fails with a reason",
    "echo 'E: first' >&2; echo 'E: why' >&2; exit 100",
    failure("ended with 100: E: first; E: why"),
  ],
  ["explains it on its standard output", "echo why; exit 1", failure("ended with 1: why")],
  ["prints much", "seq 2000; exit 1", failure("ended with 1: 1996; 1997; 1998; 1999; 2000")],
  ["fails and prints nothing", "exit 1", failure("ended with 1")],
  [
    "colours its output",
    String.raw`printf '\033[31mred\n'; exit 1`,
    failure("ended with 1: \u{FFFD}[31mred"),
  ],
  ["another process kills", "kill -KILL $$", failure("was ended by SIGKILL")],
  ["reads its standard input", "cat", success(null)],
])("a program that %s", async (_, script, outcome) => {
  expect(await shell(script)).toEqual(outcome);
});

it("a program that is not there → an error", async () => {
  const outcome = await runToItsEnd({
    program: "/no/such",
    args: [],
    environment,
    deadlineMs: LONG_MS,
    graceMs: 1,
  });
  expect(outcome).toEqual(failure("spawn /no/such ENOENT"));
});

it("gets the variables that the caller passes, and no others of this process's environment", async () => {
  process.env["ROLLCALL_JOIN_TOKEN"] = "rcj1_secret";
  const outcome = await shell("env; exit 1");
  delete process.env["ROLLCALL_JOIN_TOKEN"];
  expect(outcome).toEqual(failure(expect.stringContaining("GIVEN=yes") as string));
  expect(outcome).toEqual(failure(expect.not.stringContaining("secret") as string));
});

describe("time", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("late → asked to end; its child runs on to its own end, and is waited for", async () => {
    const [begun, open, done] = ["begun", "open", "done"].map((name) => join(folder.path, name));
    // The script's child waits for a pipe that opens once the program is asked to end.
    const script = `mkfifo ${open}; (read line < ${open}; touch ${done}) & trap 'echo x > ${open}; exit 9' TERM; touch ${begun}; wait`;
    const outcome = shell(script, 2000);
    await eventually(() => existsSync(begun!)).toBe(true);
    vi.advanceTimersByTime(2000);
    expect(await outcome).toEqual(failure("did not end within 2 s"));
    expect(existsSync(done!)).toBe(true);
  });

  it("its child never ends → given up after the grace, with the program's own outcome", async () => {
    const ending = shell("sleep 600 & echo $! >&2; exit 3", LONG_MS, 200);
    // The two timers are the deadline, and the grace after the program's end.
    await eventually(() => vi.getTimerCount()).toBe(2);
    vi.advanceTimersByTime(200);
    const outcome = await ending;
    expect(outcome).toEqual(failure(expect.stringMatching(/^ended with 3: \d+$/) as string));
    if (!outcome.ok) process.kill(Number(outcome.error.split(" ").at(-1)));
  });
});

it.each(["SIGTERM", "SIGHUP"] as const)(
  "%s meanwhile → this process ends by it, but only after the program",
  async (signal) => {
    const module = pathToFileURL(join(ROOT, "node-shim/service/package.ts")).href;
    const [begun, open, done] = ["begun", "open", "done"].map((name) => join(folder.path, name));
    const script = `mkfifo ${open}; touch ${begun}; read line < ${open}; touch ${done}`;
    const run = { program: "/bin/sh", args: ["-c", script], environment, deadlineMs: LONG_MS, graceMs: 1 };
    const code = `import { runToItsEnd } from "${module}";
await runToItsEnd(${JSON.stringify(run)});
setTimeout(() => process.exit(7), 60_000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
    const ended = new Promise((resolve) => child.once("exit", (_, by) => resolve(by)));
    await eventually(() => existsSync(begun!)).toBe(true);
    child.kill(signal);
    spawn("/bin/sh", ["-c", `echo x > ${open}`]);
    expect(await ended).toBe(signal);
    expect(existsSync(done!)).toBe(true);
  },
);
