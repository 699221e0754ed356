// Tests the built command line without a reader of its output, as in `rollcall nodes | head`.
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
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
