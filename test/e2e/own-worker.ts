// A Worker of a test's own in workerd, and the operator's command line that asks it.
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { localParts, untilReady } from "../../infra/local/parts.ts";
import { freePort } from "../../infra/local/ports.ts";
import { prepareWorker } from "../../infra/local/workerd.ts";
import { ROOT } from "./local-cluster.ts";

type Environment = Record<string, string | undefined>;

export interface OwnWorker {
  url: string;
  adminSecret: string;
  /** npm run rollcall -- ARGS, with the Worker and its admin secret in the environment unless that says otherwise. */
  rollcall: (
    args: string[],
    environment?: Environment,
  ) => Promise<{ code: number | null; stdout: string; stderr: string }>;
  stop: () => Promise<void>;
}

/** The apiserver that it writes to; without one nobody answers there. */
interface Cluster {
  kubeUrl: string;
  kubeCa: string | undefined;
  kubeToken: string;
}
const NO_CLUSTER: Cluster = { kubeUrl: "http://127.0.0.1:9", kubeCa: undefined, kubeToken: "none" };

/** `folder` holds all that it keeps. */
export async function startOwnWorker(folder: string, cluster: Cluster = NO_CLUSTER): Promise<OwnWorker> {
  const adminSecret = randomBytes(32).toString("base64url");
  const port = await freePort("", undefined, undefined);
  const url = `http://127.0.0.1:${port}`;
  const [, ...command] = await prepareWorker({
    folder: join(folder, "worker"),
    root: ROOT,
    port,
    deployment: "rollcall",
    ...cluster,
    macKeys: `1:${randomBytes(32).toString("base64url")}`,
    adminSecretSha256: createHash("sha256").update(adminSecret).digest("base64url"),
  });
  // The test runner reads CommonJS in another way than Node does.
  const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };
  const parts = localParts(() => undefined);
  const part = parts.start("worker", [workerd, ...command], join(folder, "log"));
  await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
  return {
    url,
    adminSecret,
    rollcall(args, environment = {}) {
      const set = { ROLLCALL_URL: url, ROLLCALL_ADMIN_SECRET: adminSecret, ...environment };
      const child = spawn(process.execPath, ["infra/operator/main.ts", ...args], {
        cwd: ROOT,
        env: { PATH: process.env["PATH"], ...set },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const text = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const)
        child[name].on("data", (chunk: Buffer) => (text[name] += chunk.toString()));
      return new Promise((done) => child.once("close", (code) => done({ code, ...text })));
    },
    stop: () => parts.stop(),
  };
}
