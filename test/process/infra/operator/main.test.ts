// Tests the built command line: without a reader of its output, as in `rollcall nodes | head`, and at Ctrl+C.
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../../e2e/local-cluster.ts";

const PROGRAM = join(ROOT, "infra/operator/dist/rollcall.cjs");

async function run(args: string[], stdout: "pipe" | number, has: (typeof process)["env"] = {}) {
  const environment = { ...process.env, ...has };
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: environment,
    stdio: ["ignore", stdout, "pipe"],
  });
  child.stdout?.destroy();
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise((done) => child.once("close", done));
  return { code, stderr };
}

test.each([
  ["--help", 0],
  ["explain", 0],
  ["completion", 2],
])("%s, and the reader has ended → the command ends quietly", async (command, code) => {
  const ended = await run([command], "pipe");
  expect(ended.code).toBe(code);
  expect(ended.stderr).not.toMatch(/EPIPE|\n +at /);
});

test("the output's disk is full → one line that names the fault, exit code 1", async () => {
  const full = openSync("/dev/full", "w");
  const ended = await run(["--version"], full);
  closeSync(full);
  expect(ended).toEqual({ code: 1, stderr: "rollcall: the output cannot be written (ENOSPC)\n" });
});

test("Node.js 18 → one line with the way, exit code 2", async () => {
  const asNode18 =
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'18.20.4'}})";
  const ended = await run(["--version"], "pipe", { NODE_OPTIONS: `--import=${asNode18}` });
  expect(ended.code).toBe(2);
  expect(ended.stderr).toMatch(/^rollcall: this is Node\.js v[\d.]+: install Node\.js 20 or newer/);
});

test.each<[situation: string, asked: string, answers: (method: string) => object | null, line: string]>([
  [
    "rules are tried",
    "POST 1",
    (method) => (method === "GET" ? rulesOf(7, null) : null),
    "nothing was changed",
  ],
  [
    "rules are rolled out",
    "GET 2",
    (method) =>
      method === "POST" ? { machines: 1, changes: [], failed: [], next: null } : rulesOf(8, ROLLOUT),
    "the rollout of revision 8 continues: rollcall rules list shows it",
  ],
])("Ctrl+C while %s → 130, and what it means", async (_, asked, answers, line) => {
  const counts = new Map<string, number>();
  const server = createServer(({ method = "" }, response) => {
    counts.set(method, (counts.get(method) ?? 0) + 1);
    if (`${method} ${counts.get(method)}` === asked) child.kill("SIGINT");
    const body = answers(method);
    if (body) response.end(JSON.stringify(body));
  });
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, [PROGRAM, "rules", "apply", "-f", "-", "--yes"], {
    env: { ...process.env, ROLLCALL_URL: `http://127.0.0.1:${port}`, ROLLCALL_SECRET: "secret" },
    stdio: ["pipe", "ignore", "pipe"],
  });
  child.stdin.end(JSON.stringify(RULES));
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise((done) => child.once("close", done));
  server.close();
  expect({ code, last: stderr.trimEnd().split("\n").at(-1) }).toEqual({
    code: 130,
    last: `rollcall: ${line}`,
  });
});

const RULES = {
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name: "all" },
  spec: { rules: [] },
};
const ROLLOUT = { state: "running", machines: 1, done: 0, changed: 0, mayChange: 1, failed: 0 };
const rulesOf = (revision: number, rollout: object | null) => ({
  revision,
  objects: [],
  rollout,
  revisions: [],
  matches: [],
});
