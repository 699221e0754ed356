// The Worker in workerd on loopback for a benchmark: its process, its operator's secret, and machines enrolled with it.
// oxlint-disable-next-line typescript/triple-slash-reference -- an ambient declaration is no module to import
/// <reference path="../../infra/local/workerd-package.d.ts" />
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { mintToken } from "../../infra/local/admin.ts";
import { localParts, untilReady } from "../../infra/local/parts.ts";
import { freePort } from "../../infra/local/ports.ts";
import { prepareWorker } from "../../infra/local/workerd.ts";
import type { WorkerConnection } from "../../infra/operator/client.ts";
import { enrol, type Transport } from "../../node-shim/worker-link/reporter.ts";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/machine-key.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface BenchWorker {
  url: string;
  /** A join token for the names that were asked for. */
  joinToken: string;
  /** The admin secret, for infra/operator/client.ts. */
  operator: WorkerConnection;
  /** CPU that workerd has used, in microseconds. */
  cpuMicroseconds: () => number;
  /** Its resident memory. */
  residentBytes: () => number;
  /** Durable Objects that have a file. */
  objects: () => number;
  stop: () => Promise<void>;
}

/** `entry`: a file to bundle instead of the Worker's own. */
export async function startBenchWorker(
  kube: { url: string; token: string },
  names: string,
  entry?: string,
): Promise<BenchWorker> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
  const port = await freePort("", undefined, undefined);
  const secret = randomBytes(32).toString("base64url");
  const command = await prepareWorker({
    folder,
    root: ROOT,
    port,
    deployment: "rollcall",
    kubeUrl: kube.url,
    kubeCa: undefined,
    kubeToken: kube.token,
    macKeys: `1:${randomBytes(32).toString("base64url")}`,
    adminSecretSha256: createHash("sha256").update(secret).digest("base64url"),
  });
  if (entry !== undefined) await bundle(entry, join(folder, "worker.js"));
  const parts = localParts(() => undefined, false);
  const part = parts.start("worker", command, join(folder, "log"));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
  return {
    url,
    operator: { url, headers: { authorization: `Bearer ${secret}` } },
    joinToken: await mintToken(url, secret, { names, uses: 5000, withoutFactsOnlyTaint: false }),
    cpuMicroseconds: () => cpuMicroseconds(part.process.pid ?? 0),
    residentBytes: () => residentBytes(part.process.pid ?? 0),
    objects: () =>
      readdirSync(join(folder, "objects"), { recursive: true, encoding: "utf8" }).filter((file) =>
        file.endsWith(".sqlite"),
      ).length,
    stop: async () => {
      await parts.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function bundle(entry: string, outfile: string): Promise<void> {
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

/** From /proc: utime and stime in hundredths of a second. */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function residentBytes(pid: number): number {
  const [, kiB] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kiB) * 1024;
}

export async function enrolledMachine(
  { url, joinToken }: BenchWorker,
  name: string,
  send: Transport,
): Promise<{ key: MachineKey; kid: string }> {
  const key = await makeMachineKey();
  const machine = { machineID: name, systemUUID: name };
  const outcome = await enrol(send, key, { name, origin: url, joinToken, ...machine });
  if (outcome.kind !== "ok") throw new Error(`enrolment of ${name}: ${JSON.stringify(outcome)}`);
  return { key, kid: outcome.answer.kid };
}
