// npm run deploy as its own process, of somebody whose environment has nothing but what is given.
import { spawn } from "node:child_process";
import { ROOT } from "../e2e/local-cluster.ts";
import { thisRun } from "../e2e/run-record.ts";

export interface DeployRan {
  code: number | null;
  stdout: string;
  stderr: string;
}

export function runDeploy(args: readonly string[], environment: Record<string, string>): Promise<DeployRan> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ["infra/deploy/main.ts", ...args], {
    cwd: ROOT,
    env: { PATH, NODE_COMPILE_CACHE, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (chunk: string) => (text[name] += chunk));
  return new Promise((done) =>
    child.once("close", (code) => {
      thisRun().log("npm run deploy", text.stdout.replace(/shown this once: .*/, "") + text.stderr);
      done({ code, ...text });
    }),
  );
}
