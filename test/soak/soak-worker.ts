// The Worker in workerd for a soak: with the limits of a deployment, as many open files as it may have, and started again on
// what it has stored.
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mintToken } from "../../infra/local/admin.ts";
import { localParts, type Part, untilReady } from "../../infra/local/parts.ts";
import { freePort } from "../../infra/local/ports.ts";
import { prepareWorker } from "../../infra/local/workerd.ts";
import { cpuSecondsOf } from "../bench/process-weight.ts";
import { type KubeAddress, residentBytes, ROOT } from "../bench/workerd.ts";

export interface SoakWorker {
  url: string;
  joinToken: string;
  /** Of the process that runs now. */
  cpuSeconds: () => number;
  residentBytes: () => number;
  /** GET /metrics */
  metrics: () => Promise<string>;
  /** Kills it, and starts it again. Resolves once it answers. */
  killAndStart: () => Promise<void>;
  stop: () => Promise<void>;
}

/** As wrangler.toml has them: the local cluster lets machines report more often. */
const VARIABLES = {
  MACHINE_REQUESTS: "20",
  NODE_WATCH: "on",
  MIN_REPORT_INTERVAL_SECONDS: "5",
  MIN_STATUS_PERIOD_SECONDS: "60",
  MIN_LEASE_SECONDS: "20",
};
/** Connections of machines, and three files of each object that is awake. */
const OPEN_FILES = 200_000;
const RAISED = `ulimit -n ${OPEN_FILES} 2>/dev/null || ulimit -n "$(ulimit -Hn)"; exec "$@"`;

export async function startSoakWorker(kube: KubeAddress, machines: number): Promise<SoakWorker> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-soak-"));
  const parts = localParts(() => undefined, false);
  const port = await freePort("", undefined, undefined);
  const url = `http://127.0.0.1:${port}`;
  const secret = randomBytes(32).toString("base64url");
  const command = await prepareWorker({
    folder,
    root: ROOT,
    port,
    deployment: "rollcall",
    kubeUrl: kube.url,
    kubeCa: undefined,
    kubeToken: kube.token,
    variables: VARIABLES,
    macKeys: `1:${randomBytes(32).toString("base64url")}`,
    adminSecretSha256: createHash("sha256").update(secret).digest("base64url"),
  });
  const start = async () => {
    const part = parts.start("worker", ["sh", "-c", RAISED, "sh", ...command], join(folder, "log"));
    await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
    return part;
  };
  let part: Part = await start();
  const pid = () => part.process.pid ?? 0;
  const wish = { names: "sim-*", uses: 2 * machines + 10, withoutFactsOnlyTaint: false };
  return {
    url,
    joinToken: await mintToken(url, secret, wish),
    cpuSeconds: () => cpuSecondsOf(pid()),
    residentBytes: () => residentBytes(pid()),
    metrics: async () =>
      (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${secret}` } })).text(),
    async killAndStart() {
      part.process.kill("SIGKILL");
      await part.ended;
      part = await start();
    },
    stop: async () => {
      await parts.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
