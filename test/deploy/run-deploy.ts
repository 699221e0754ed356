// Runs npm run deploy and npm run remove as processes; the environment contains only what the caller passes.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../e2e/local-cluster.ts";
import { thisRun } from "../e2e/run-record.ts";
import type { MadeUpCloudflare } from "./made-up-cloudflare.ts";

export interface DeployRan {
  code: number | null;
  stdout: string;
  stderr: string;
}

type Environment = Record<string, string>;

export const runDeploy = (args: readonly string[], environment: Environment): Promise<DeployRan> =>
  runProgram("deploy", "infra/deploy/main.ts", args, environment);

export const runRemove = (args: readonly string[], environment: Environment): Promise<DeployRan> =>
  runProgram("remove", "infra/deploy/remove-main.ts", args, environment);

function runProgram(
  name: string,
  program: string,
  args: readonly string[],
  environment: Environment,
): Promise<DeployRan> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
    cwd: ROOT,
    env: { PATH, NODE_COMPILE_CACHE, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (chunk: string) => (text[stream] += chunk));
  return new Promise((done) =>
    child.once("close", (code) => {
      thisRun().log(`npm run ${name}`, text.stdout.replace(/shown this once: .*/, "") + text.stderr);
      done({ code, ...text });
    }),
  );
}

/**
 * Returns the environment of a user with a home and no login. A variable forbids npm to ask the registry for its latest
 * version. wrangler would ask the registry too, but finds an answer of the last hour in its cache.
 */
export function ownHome(folder: string): Environment {
  const cache = join(folder, "tmp/update-check");
  mkdirSync(cache, { recursive: true });
  writeFileSync(
    join(cache, "wrangler-latest.json"),
    JSON.stringify({ lastUpdate: Date.now(), latest: null }),
  );
  return { HOME: folder, TMPDIR: join(folder, "tmp"), npm_config_update_notifier: "false" };
}

/**
 * Returns the environment of `ownHome` with the URL and the token of this made-up Cloudflare. wrangler then needs no
 * login.
 */
export const ownAccount = (folder: string, { url, place }: MadeUpCloudflare): Environment => ({
  ...ownHome(folder),
  CLOUDFLARE_API_BASE_URL: url,
  CLOUDFLARE_API_TOKEN: place.token,
});
