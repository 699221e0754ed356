// Tests `node-shim ask` of the bundle, with a journalctl that a script plays: its answer, and what a signal ends.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../node-shim/base/eventually.ts";
import { ROOT, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";

let folder: string;
beforeEach(() => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  folder = path;
});

/** Starts `node-shim ask` about a unit, on a machine whose journalctl is `script`. */
function ask(
  script: string,
  asked = ["--questions", "logs", "logs", "unit=nginx"],
): { child: ChildProcess; ended: Promise<[number | null, string, string]> } {
  writeFileSync(join(folder, "journalctl"), `#!/bin/sh\n${script}`, { mode: 0o755 });
  const args = ["ask", "--state", join(folder, "state"), ...asked];
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
  const child = spawn(process.execPath, [join(ROOT, "node-shim/bin/node-shim.cjs"), ...args], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return { child, ended: new Promise((done) => child.once("close", (code) => done([code, stdout, stderr]))) };
}

test("entries → lines, the oldest first; no variable of the shim reaches the program", async () => {
  const script = String.raw`
echo '{"__REALTIME_TIMESTAMP":"1000000","MESSAGE":"'$#' \u001b[31m","SYSLOG_IDENTIFIER":"nginx","_PID":"7"}'
echo '{"__REALTIME_TIMESTAMP":"0","MESSAGE":"'$(env | cut -d= -f1 | sort | tr '\n' ' ')'"}'`;
  const [code, stdout, stderr] = await ask(script).ended;
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(
    "1970-01-01T00:00:00.000Z unknown: LANG PATH PWD \n" +
      String.raw`1970-01-01T00:00:01.000Z nginx[7]: 6 \u001b[31m` +
      "\n",
  );
});

test("a journalctl that fails → its last line, and 1", async () => {
  const [code, stdout, stderr] = await ask("echo 'No journal files were found.' >&2; exit 1").ended;
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toBe("node-shim: logs: journalctl ended with 1: No journal files were found.\n");
});

test("SIGTERM while the program hangs → both end", async () => {
  const pid = join(folder, "pid");
  const { child, ended } = ask(`echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 600`);
  await eventually(() => existsSync(pid)).toBe(true);
  child.kill("SIGTERM");
  expect((await ended)[0]).toBe(1);
  await eventually(() => existsSync(`/proc/${readFileSync(pid, "utf8").trim()}`)).toBe(false);
});

test("a bundle → a file that tar reads", async () => {
  const script = `echo '{"__REALTIME_TIMESTAMP":"0","MESSAGE":"one"}'`;
  const { child, ended } = ask(script, ["--questions", "logs,disks,bundle", "bundle"]);
  const chunks: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  expect((await ended)[0]).toBe(0);
  const tar = (...args: string[]) => execFileSync("tar", args, { input: Buffer.concat(chunks) }).toString();
  expect(tar("-tzf", "-")).toMatch(
    /^bundle\/disks\.txt\n(.*\n)*bundle\/logs\/kernel\.txt\nbundle\/manifest\.json\n$/,
  );
  expect(tar("-xzOf", "-", "bundle/logs/kernel.txt")).toBe("1970-01-01T00:00:00.000Z unknown: one\n");
});
