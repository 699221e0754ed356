// Starts a soak's Worker with a made-up apiserver. The Worker has a deployment's limits. workerd may open OPEN_FILES
// files, or as many as the hard limit allows.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { mintToken } from "../../../infra/local/admin.ts";
import { endText, localParts, type Part, type Parts, untilReady } from "../../../infra/local/parts.ts";
import { freePort } from "../../../infra/local/ports.ts";
import { prepareWorker } from "../../../infra/local/workerd.ts";
import { cpuSecondsOf } from "../bench/process-weight.ts";
import { DEPLOYED, residentBytes, ROOT } from "../bench/workerd.ts";
import { startMadeUpApiserver } from "./made-up-apiserver.ts";
import type { InPlace, SoakWorker } from "./place.ts";

const OPEN_FILES = 200_000;
const RAISED = `ulimit -n ${OPEN_FILES} 2>/dev/null || ulimit -n "$(ulimit -Hn)"`;

/** The share of the time that a slowed Worker runs, in slices of SLICE_MS. */
const SLOWED = 0.1;
const SLICE_MS = 200;

/** Milliseconds that the apiserver waits before each answer. */
const ANSWERS_AFTER_MS = 50;

/** Returns the number of files that workerd may have open. */
export function raisedOpenFiles(): number {
  return Number(execFileSync("sh", ["-c", `${RAISED}; ulimit -n`], { encoding: "utf8" }));
}

export const inMadeUpPlace: InPlace = async (machines, leases, work) => {
  const kube = await startMadeUpApiserver(ANSWERS_AFTER_MS, (name, atMs) => leases.renewed(name, atMs));
  const folder = mkdtempSync(join(tmpdir(), "rollcall-soak-"));
  const died = new AbortController();
  const parts = localParts((part, how) => noteEnd(died, part, how), false);
  try {
    const worker = await startWorker({ folder, parts, kube, machines });
    const apiserverCpuSeconds = () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    };
    return await work({ worker, apiserverCpuSeconds, trouble: kube.trouble, died: died.signal });
  } finally {
    await parts.stop();
    await kube.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Aborts `died` if a part has ended that the soak did not kill. */
export function noteEnd(died: AbortController, part: Part, how: string): void {
  if (!part.process.killed) died.abort(new Error(endText(part, how)));
}

interface Surroundings {
  folder: string;
  parts: Parts;
  /** The apiserver's URL, the Worker's token, and the apiserver's CA as PEM; absent if none is needed. */
  kube: { url: string; token: string; ca?: string | undefined };
  machines: number;
  /** Variables in addition to a deployment's. */
  variables?: Record<string, string> | undefined;
}

export async function startWorker(surroundings: Surroundings): Promise<SoakWorker> {
  const { folder, parts, kube, machines, variables } = surroundings;
  const port = await freePort();
  const secret = randomBytes(32).toString("base64url");
  const command = await prepareWorker({
    folder,
    root: ROOT,
    port,
    deployment: "rollcall",
    kubeUrl: kube.url,
    kubeCa: kube.ca,
    kubeToken: kube.token,
    variables: { ...DEPLOYED, ...variables },
    macKeys: `1:${randomBytes(32).toString("base64url")}`,
    adminSecretSha256: createHash("sha256").update(secret).digest("base64url"),
  });
  const url = `http://127.0.0.1:${port}`;
  const part = parts.start(
    "worker",
    ["sh", "-c", `${RAISED}; exec "$@"`, "sh", ...command],
    join(folder, "log"),
  );
  return workerOf(parts, part, { url, secret, machines });
}

/** The Worker's address, its operator's secret, and the number of machines that will enrol. */
interface Reached {
  url: string;
  secret: string;
  machines: number;
}

/** Returns access to the Worker whose process was just started. */
export async function workerOf(parts: Parts, started: Part, reached: Reached): Promise<SoakWorker> {
  const { url, secret, machines } = reached;
  let part = started;
  const ready = () => untilReady(part, async () => (await fetch(`${url}/livez`)).ok);
  const pid = () => part.process.pid ?? 0;
  await ready();
  return {
    url,
    joinToken: await mintToken(url, secret, {
      names: "sim-*",
      uses: 2 * machines,
      withoutFactsOnlyTaint: false,
    }),
    cpuSeconds: () => cpuSecondsOf(pid()),
    residentBytes: () => residentBytes(pid()),
    openFiles: () => readdirSync(`/proc/${pid()}/fd`).length,
    async metrics() {
      const headers = { authorization: `Bearer ${secret}` };
      return (await fetch(`${url}/metrics`, { headers })).text();
    },
    async slow(forMs, signal) {
      const endMs = performance.now() + forMs;
      try {
        while (performance.now() < endMs) {
          part.process.kill("SIGSTOP");
          await wait(SLICE_MS * (1 - SLOWED), undefined, { signal });
          part.process.kill("SIGCONT");
          await wait(SLICE_MS * SLOWED, undefined, { signal });
        }
      } finally {
        part.process.kill("SIGCONT");
      }
    },
    async killAndStart() {
      part.process.kill("SIGKILL");
      await part.ended;
      part = parts.start(part.name, part.command, part.logFile);
      await ready();
    },
  };
}
