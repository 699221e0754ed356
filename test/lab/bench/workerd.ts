// Runs the Worker in workerd on loopback for a benchmark: its process, an operator's secret, and machines enrolled
// with it.
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { mintToken } from "../../../infra/local/admin.ts";
import { localParts, untilReady } from "../../../infra/local/parts.ts";
import { freePort } from "../../../infra/local/ports.ts";
import { prepareWorker } from "../../../infra/local/workerd.ts";
import type { WorkerConnection } from "../../../infra/operator/client.ts";
import { pause } from "../../../node-shim/base/clock.ts";
import { atItsTurn } from "../../../node-shim/worker-link/enrol.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { type Transport } from "../../../node-shim/worker-link/exchange.ts";
import { type MachineKey, makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { cpuMicrosecondsOf } from "./process-weight.ts";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Variables with the defaults of wrangler.toml. The local cluster, whose Worker the benchmark starts, lets machines
 * report more often.
 */
export const DEPLOYED = {
  MACHINE_REQUESTS: "20",
  NODE_WATCH: "on",
  MIN_REPORT_INTERVAL_SECONDS: "5",
  MIN_STATUS_PERIOD_SECONDS: "60",
  MIN_LEASE_SECONDS: "20",
};

/** The Worker of a benchmark, in workerd: machines can enrol with it. */
export interface RunningWorker {
  url: string;
  /** A join token for the names that the caller of `startBenchWorker` has passed. */
  joinToken: string;
  /** Returns the CPU time that workerd has used since its start, in microseconds. */
  cpuMicroseconds: () => number;
  stop: () => Promise<void>;
}

export interface BenchWorker extends RunningWorker {
  /** The Worker's URL and its admin secret, for infra/operator/client.ts. */
  operator: WorkerConnection;
  /** Returns the resident memory of workerd, in bytes. */
  residentBytes: () => number;
  /** Returns the number of Durable Objects that have a file. */
  objects: () => number;
}

export interface KubeAddress {
  url: string;
  token: string;
}

interface WorkerChoice {
  /** The path of a file of this tree that replaces the Worker's own entry. */
  entry?: string;
  /** The path of a file of this tree that replaces the Worker's clock. */
  clock?: string;
  /** The root folder of the project, of this tree or of another one. */
  root?: string;
  /** The Worker's variables. By default machines may report as often as they can, and no Node is watched. */
  variables?: Record<string, string>;
}

export async function startBenchWorker(
  kube: KubeAddress,
  names: string,
  {
    entry,
    clock,
    root = ROOT,
    variables = { MACHINE_REQUESTS: "1000000", SHARED_LIMITS_FACTOR: "1000", NODE_WATCH: "off" },
  }: WorkerChoice = {},
): Promise<BenchWorker> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const port = await freePort();
  const secret = randomBytes(32).toString("base64url");
  const command = await (
    await prepareOf(root)
  )({
    folder,
    root,
    ...(entry !== undefined && { entry }),
    ...(clock !== undefined && { clock }),
    port,
    deployment: "rollcall",
    kubeUrl: kube.url,
    kubeCa: undefined,
    kubeToken: kube.token,
    variables,
    macKeys: `1:${randomBytes(32).toString("base64url")}`,
    adminSecretSha256: createHash("sha256").update(secret).digest("base64url"),
  });
  const { pid, url, stop } = await startWorkerd(folder, command, port);
  return {
    url,
    operator: { url, headers: { authorization: `Bearer ${secret}` } },
    joinToken: await mintToken(url, secret, { names, uses: 5000, withoutFactsOnlyTaint: false }),
    cpuMicroseconds: () => cpuMicrosecondsOf(pid),
    residentBytes: () => residentBytes(pid),
    objects: () =>
      readdirSync(join(folder, "objects"), { recursive: true, encoding: "utf8" }).filter((file) =>
        file.endsWith(".sqlite"),
      ).length,
    stop,
  };
}

/** Returns `prepareWorker` of the tree at `root`: bindings and classes must be those of the Worker's own tree. */
async function prepareOf(root: string): Promise<typeof prepareWorker> {
  if (root === ROOT) return prepareWorker;
  const module = (await import(pathToFileURL(join(root, "infra/local/workerd.ts")).href)) as {
    prepareWorker: typeof prepareWorker;
  };
  return module.prepareWorker;
}

/** Starts workerd and waits until it answers; `stop` also removes its folder. */
export async function startWorkerd(
  folder: string,
  command: string[],
  port: number,
): Promise<{ pid: number; url: string; stop: () => Promise<void> }> {
  const parts = localParts(() => undefined, false);
  const part = parts.start("worker", command, join(folder, "log"));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
  const stop = async () => {
    await parts.stop();
    rmSync(folder, { recursive: true });
  };
  return { pid: part.process.pid ?? 0, url, stop };
}

export async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "silent",
  });
}

/** Returns the resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const [, kiB] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kiB) * 1024;
}

/** Enrols a machine at its turn. `wait` returns after this number of milliseconds. */
export async function enrolledMachine(
  { url, joinToken }: RunningWorker,
  name: string,
  send: Transport,
  wait: (ms: number) => Promise<void> = pause,
): Promise<{ key: MachineKey; kid: string; ticket: string }> {
  const key = await makeMachineKey();
  const asking = { name, origin: url, joinToken, machineID: name, systemUUID: name };
  const outcome = await atItsTurn(() => enrol(send, key, asking), wait);
  if (!outcome.ok) throw new Error(`enrolment of ${name}: ${JSON.stringify(outcome)}`);
  const { kid, ticket } = outcome.value;
  return { key, kid, ticket };
}
