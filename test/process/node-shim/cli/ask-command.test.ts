// Tests `node-shim ask` of the bundle: its answer, with a journalctl that a script plays, what a signal ends, and which
// proofs the unit requires.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../node-shim/base/eventually.ts";
import { ROOT, temporaryFolder } from "../../../node-shim/base/temporary-folder.ts";
import { proofBy, publicLine } from "../../../../infra/operator/question-key.ts";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";

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

/** Asks `node-shim ask --serve` for the processes of a machine that pins the key of `line`. Returns the answer's bytes. */
async function serve(instance: string, line: string, proof?: string): Promise<string> {
  writeFileSync(join(folder, "keys"), line);
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((ready) => void server.listen(join(folder, "socket"), ready));
  const accepted = new Promise<Socket>((resolve) => void server.once("connection", resolve));
  const asker = connect(join(folder, "socket"));
  const unit = await accepted;
  const pins = ["--questions", "processes", "--questions-from", join(folder, "keys")];
  const flags = ["--hostname-override", "edge-1", "--state", join(folder, "state"), ...pins];
  const program = [join(ROOT, "node-shim/bin/node-shim.cjs"), "ask", "--serve", instance, ...flags];
  const child = spawn(process.execPath, program, { stdio: [unit, "ignore", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  unit.destroy();
  asker.write(`${JSON.stringify({ ...PROCESSES, proof })}\n`);
  let answer = "";
  for await (const chunk of asker) answer += String(chunk);
  return answer;
}
const PROCESSES = { name: "processes", parameters: {} };

test.each<[situation: string, instance: string, hasProof: boolean, answer: RegExp]>([
  ["of an administrator's command → an answer", `1-${process.pid}-0`, false, /"complete"/],
  ["of the shim, without a proof → refused", "1-unknown", false, /"refused","fault":"the shim has passed/],
  ["of the shim, with a pinned key's proof → an answer", "1-unknown", true, /"complete"/],
])("the unit of a machine that pins keys, a question %s", async (_, instance, hasProof, answer) => {
  const key = { key: await makeMachineKey(), comment: "" };
  const asked = { machine: "edge-1", challenge: "A".repeat(22), question: PROCESSES };
  expect(await serve(instance, publicLine(key), hasProof ? await proofBy(key, asked) : undefined)).toMatch(
    answer,
  );
});
