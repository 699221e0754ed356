// Starts a soak's Worker with a real etcd and kube-apiserver: the local cluster of `npm start`. Reads its leases
// every few seconds.
import { setTimeout as wait } from "node:timers/promises";
import { type KubeAdmin, tokenAdmin } from "../../../infra/local/kube-admin.ts";
import type { Part, Parts } from "../../../infra/local/parts.ts";
import { adminSecret } from "../../../infra/local/settings.ts";
import { type LocalFleet, withLocalFleet } from "../bench/local-fleet.ts";
import { cpuSecondsOf } from "../bench/process-weight.ts";
import type { LeaseWatch } from "./lease-watch.ts";
import { noteEnd, workerOf } from "./made-up-place.ts";
import type { InPlace } from "./place.ts";

/** Milliseconds between two reads of the leases. A lease is renewed at most once in 4.5 s, so no renewal is missed. */
const READ_EVERY_MS = 4000;
/** The path that lists the leases from the apiserver's memory, without a read of etcd. */
const LEASES =
  "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?resourceVersion=0&resourceVersionMatch=NotOlderThan";

interface ListedLeases {
  items: { metadata: { name: string }; spec: { renewTime?: string } }[];
}

export const inRealPlace: InPlace = (machines, leases, work) => {
  const died = new AbortController();
  const run = async (fleet: LocalFleet) => {
    const { parts, workerUrl, folder } = fleet;
    const { secret } = adminSecret(folder);
    const worker = await workerOf(parts, runningPart(parts, "worker"), { url: workerUrl, secret, machines });
    const apiserverCpuSeconds = () => apiserverCpuSecondsOf(parts);
    const ended = new AbortController();
    const reading = readLeases(fleet, leases, ended.signal);
    try {
      return await Promise.race([work({ worker, apiserverCpuSeconds, died: died.signal }), reading]);
    } finally {
      ended.abort();
    }
  };
  return withLocalFleet(run, (part, how) => noteEnd(died, part, how));
};

function runningPart(parts: Parts, name: string): Part {
  const found = parts.running().findLast((part) => part.name === name);
  if (!found) throw new Error(`no ${name} runs`);
  return found;
}

/** Returns the CPU time of etcd and the kube-apiserver since their start, in seconds. */
export function apiserverCpuSecondsOf(parts: Parts): number {
  const pids = ["etcd", "kube-apiserver"].map((name) => runningPart(parts, name).process.pid ?? 0);
  return pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
}

/** Returns a function that sends requests as the administrator. */
export function askerOf(admin: LocalFleet["admin"]): KubeAdmin {
  const { server = "", caData = "" } = admin.getCurrentCluster() ?? {};
  const ca = Buffer.from(caData, "base64").toString();
  return tokenAdmin(server, ca, admin.getCurrentUser()?.token ?? "");
}

/** Reads the leases repeatedly. Rejects if a read fails or `ended` is aborted; never resolves. */
export async function readLeases(
  { admin }: LocalFleet,
  leases: Pick<LeaseWatch, "renewed">,
  ended: AbortSignal,
): Promise<never> {
  const ask = askerOf(admin);
  const seenMs = new Map<string, number>();
  for (;;) {
    const { items } = (await ask({ method: "GET", path: LEASES })) as ListedLeases;
    for (const { metadata, spec } of items) {
      const atMs = Date.parse(spec.renewTime ?? "");
      if (!metadata.name.startsWith("sim-") || !(atMs > (seenMs.get(metadata.name) ?? 0))) continue;
      seenMs.set(metadata.name, atMs);
      leases.renewed(metadata.name, atMs);
    }
    await wait(READ_EVERY_MS, undefined, { signal: ended });
  }
}
