// Tests programs whose lines are read while they come: their ends, and what is left of them.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, test, vi } from "vitest";
import { programLines } from "../../../../node-shim/base/program-lines.ts";
import { eventually } from "../../../node-shim/base/eventually.ts";
import { temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

const going = () => new AbortController().signal;
const sh = (script: string, signal = going(), anyExitCode = false) =>
  programLines("/bin/sh", ["-c", script], { signal, anyExitCode });

async function collected(lines: AsyncIterable<string>): Promise<string[] | string> {
  const all: string[] = [];
  try {
    for await (const line of lines) all.push(line);
    return all;
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  ["ends well", sh("printf 'a\\n\\nb'"), ["a", "", "b"]],
  ["fails with a reason", sh("echo out; echo why >&2; exit 3"), "/bin/sh ended with 3: why"],
  ["fails, where that does not count", sh("echo out; exit 3", going(), true), ["out"]],
  [
    "is missing",
    programLines("no-such-program", [], { signal: going() }),
    "no-such-program is not installed on this machine",
  ],
  [
    "is a folder",
    programLines("/etc", [], { signal: going(), anyExitCode: true }),
    "/etc cannot be started (EACCES)",
  ],
  ["was stopped before its start", sh("echo out", AbortSignal.abort()), []],
  [
    "writes characters that end in another read",
    sh("yes é | head -n 60000"),
    Array.from({ length: 60_000 }, () => "é"),
  ],
  ["reads its standard input", sh("cat"), []],
  [
    "ends each line with NUL",
    programLines("printf", [String.raw`a\nb\0c\0`], { signal: going(), separator: "\0" }),
    ["a\nb", "c"],
  ],
])("a program that %s", async (_, lines, expected) => {
  expect(await collected(lines)).toEqual(expected);
});

it("arguments → reach the program as they are, without a shell", async () => {
  const args = ["%s\\n", "$(id)", "; id", "--help"];
  expect(await collected(programLines("printf", args, { signal: going() }))).toEqual(args.slice(1));
});

/** Starts a process in the background of a script that continues with `rest`. Returns whether the process runs. */
function background(rest: string): { script: string; isRunning: () => boolean; hasStarted: () => boolean } {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  const pid = join(path, "pid");
  const isRunning = () => {
    try {
      return !readFileSync(`/proc/${readFileSync(pid, "utf8").trim()}/stat`, "utf8").includes(") Z");
    } catch {
      return false;
    }
  };
  const script = `sleep 600 & echo $! > ${pid}.new; mv ${pid}.new ${pid}; ${rest}`;
  return { script, isRunning, hasStarted: () => existsSync(pid) };
}

it("that writes without end, or 10 GB in one line → its caller stops, and nothing of it runs", async () => {
  for (const endless of ["yes", "cat /dev/zero"]) {
    const { script, isRunning } = background(endless);
    for await (const _ of programLines("/bin/sh", ["-c", script.replace("cat", "yes | head -n 1; cat")], {
      signal: going(),
    }))
      break;
    await eventually(isRunning).toBe(false);
  }
});

it("that never ends → stopped with what it has started, and the lines before count", async () => {
  const { script, isRunning, hasStarted } = background("echo out; wait");
  const stop = new AbortController();
  const lines = collected(sh(script, stop.signal));
  await eventually(hasStarted).toBe(true);
  stop.abort();
  expect([["out"], []]).toContainEqual(await lines);
  await eventually(isRunning).toBe(false);
});

it("that has ended before its caller stops → its number may be another group's, and no signal is sent", async () => {
  const kill = vi.spyOn(process, "kill");
  onTestFinished(() => kill.mockRestore());
  const lines = sh("echo $$; seq 1 3000");
  const { value: pid } = await lines.next();
  await eventually(() => existsSync(`/proc/${pid}`)).toBe(false);
  // Programs of other tests may end meanwhile.
  const kills = () => kill.mock.calls.filter(([group]) => group === -Number(pid)).length;
  await eventually(kills).toBe(1);
  await lines.return(undefined);
  expect(kills()).toBe(1);
});

it("a line without end → its beginning", async () => {
  const [line, ...others] = await collected(sh("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo next"));
  expect([line!.length <= 128 * 1024, others]).toEqual([true, ["next"]]);
});
