// Tests the static files as wrangler serves them. wrangler's code is Cloudflare's own, so the local Worker is
// compared with it.
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { freePort } from "../../infra/local/ports.ts";
import { eventually, ROOT, temporaryFolder } from "../e2e/local-cluster.ts";
import { randomSecret, sha256 } from "../e2e/local-worker.ts";
import { thisRun } from "../e2e/run-record.ts";
import { testServedFiles } from "./served-files.ts";

const folder = temporaryFolder();
let wrangler: ChildProcess;
let ended: Promise<unknown>;
let origin = "";

beforeAll(async () => {
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  const secrets = { ADMIN_SECRET_SHA256: sha256(randomSecret()), KID_MAC_KEYS: `1:${randomSecret()}` };
  const variables = { ...secrets, KUBE_TOKEN: "a-token-of-no-cluster", ORIGINS: origin };
  const flags = ["--port", String(port), "--inspector-port", "0", "--persist-to", folder.path];
  for (const [name, value] of Object.entries(variables)) flags.push("--var", `${name}:${value}`);
  wrangler = spawn(process.execPath, [join(ROOT, "node_modules/wrangler/bin/wrangler.js"), "dev", ...flags], {
    cwd: ROOT,
    env: { ...process.env, CI: "true", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [wrangler.stdout, wrangler.stderr])
    stream?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  ended = new Promise((done) => wrangler.once("close", done)).then(() => thisRun().log("wrangler dev", log));
  const endedEarly = ended.then(() => Promise.reject(new Error(`wrangler dev ended: ${log}`)));
  await Promise.race([eventually(async () => (await fetch(`${origin}/livez`)).ok), endedEarly]);
});
afterAll(async () => {
  wrangler.kill("SIGTERM");
  await ended;
  folder.remove();
});

testServedFiles(() => origin);
