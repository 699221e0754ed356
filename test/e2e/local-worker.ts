// Runs the Worker alone in workerd on loopback. A test can deploy the Worker again with other secrets.
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
  /**
   * Ends the running Worker and starts it with these settings; stored objects stay. Calls `meanwhile` between the end
   * and the start.
   */
  deploy: (settings: Deployed, meanwhile?: () => void) => Promise<void>;
  /** Kills the Worker, as a crash does; `deploy` starts it again. */
  kill: () => Promise<void>;
  stop: () => Promise<void>;
}

/**
 * Returns a Worker whose files are in `folder`. The Worker runs after the first `deploy`. A caller outside of a
 * test passes its `record`.
 */
export async function localWorker(folder: string, record: RunRecord = thisRun()): Promise<LocalWorker> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // The import goes through `createRequire` because the test runner loads CommonJS modules in another way than Node
  // does.
  const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };
  let parts: Parts | undefined;
  // If a signal ends the test run, no test calls `stop`: the processes are then killed here.
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

/** Makes a secret and records it, so that no log of the run may contain it. */
export function randomSecret(record: RunRecord = thisRun()): string {
  const secret = randomBytes(32).toString("base64url");
  record.secret("made by a test", secret);
  return secret;
}

export const sha256 = (secret: string): string => createHash("sha256").update(secret).digest("base64url");
