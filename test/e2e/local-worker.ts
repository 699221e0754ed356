// Runs the Worker alone in workerd on loopback. A test can deploy it again with other secrets.
import { createHash, randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { localParts, type Parts, untilReady } from "../../infra/local/parts.ts";
import { freePort } from "../../infra/local/ports.ts";
import { prepareWorker, type WorkerSettings } from "../../infra/local/workerd.ts";
import { ROOT } from "./local-cluster.ts";
import type { RunRecord } from "./leaks.ts";
import { thisRun } from "./run-record.ts";

type Deployed = Pick<
  WorkerSettings,
  "kubeUrl" | "kubeCa" | "kubeToken" | "macKeys" | "adminSecretSha256" | "entry" | "variables"
>;

export interface LocalWorker {
  url: string;
  /** Ends the running Worker and starts it with these settings; its objects stay. `meanwhile` runs while none runs. */
  deploy: (settings: Deployed, meanwhile?: () => void) => Promise<void>;
  /** Kills it, as a crash does; `deploy` starts it again. */
  kill: () => Promise<void>;
  stop: () => Promise<void>;
}

/** `record`: callers outside of a test pass one. */
export async function localWorker(folder: string, record: RunRecord = thisRun()): Promise<LocalWorker> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // The test runner loads CommonJS in another way than Node does.
  const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };
  let parts: Parts | undefined;
  // A run that a signal ends calls no `stop`.
  const end = () => {
    for (const { process: running } of parts?.running() ?? []) running.kill("SIGKILL");
  };
  const exit = () => process.exit(143);
  process.once("exit", end).once("SIGTERM", exit);
  return {
    url,
    async deploy(settings, meanwhile) {
      await parts?.stop();
      meanwhile?.();
      record.secret("cluster token", settings.kubeToken);
      parts = localParts(() => undefined);
      const worker = {
        folder: join(folder, "worker"),
        root: ROOT,
        port,
        deployment: "rollcall",
        ...settings,
      };
      const [, ...command] = await prepareWorker(worker);
      const part = parts.start("worker", [workerd, ...command], join(folder, "worker.log"));
      await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
    },
    async kill() {
      for (const { process: running, ended } of parts?.running() ?? []) {
        running.kill("SIGKILL");
        await ended;
      }
    },
    async stop() {
      await parts?.stop();
      process.off("exit", end).off("SIGTERM", exit);
    },
  };
}

/** Returns a secret that no log of the run may contain. */
export function randomSecret(record: RunRecord = thisRun()): string {
  const secret = randomBytes(32).toString("base64url");
  record.secret("made by a test", secret);
  return secret;
}

export const sha256 = (secret: string): string => createHash("sha256").update(secret).digest("base64url");
