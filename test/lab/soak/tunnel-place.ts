// Starts a soak's Worker with a real etcd and kube-apiserver that can be reached only through a Tunnel behind
// Access. The Tunnel restarts each minute. Heartbeats are counted when the apiserver takes them, before the Worker
// has its answer.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { localParts } from "../../../infra/local/parts.ts";
import { cpuSecondsOf } from "../bench/process-weight.ts";
import { startPrivateApiserver } from "../../cluster/way/private-apiserver.ts";
import type { Tunnel, Way } from "../../cluster/way/tunnel.ts";
import { heartbeatOf } from "./made-up-apiserver.ts";
import { noteEnd, startWorker } from "./made-up-place.ts";
import type { InPlace } from "./place.ts";

const RESTARTS_EVERY_MS = 60_000;
/** Milliseconds for which the Tunnel is away: about the time until a killed pod runs again. */
const AWAY_MS = 5000;
/** The ways in which the Tunnel fails; the soak plays them in this order. */
const WAYS: readonly Way[] = ["no cloudflared", "cut", "no apiserver", "too late"];

const LEASE = /\/namespaces\/kube-node-lease\/leases\/([^/]+)$/;

export const inTunnelPlace: InPlace = async (machines, leases, work) => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-soak-"));
  const died = new AbortController();
  const ended = new AbortController();
  const parts = localParts((part, how) => noteEnd(died, part, how), false);
  const kube = await startPrivateApiserver(folder, process.env["KUBEBUILDER_ASSETS"] ?? "");
  const { tunnel, cluster, variables } = kube;
  tunnel.passed = ({ line, body }) => {
    const [method = "", path = ""] = line.split(" ");
    const [, name] = (method === "PUT" && LEASE.exec(path)) || [];
    if (name !== undefined) leases.renewed(name, renewTimeOf(body));
    else {
      const reported = heartbeatOf(method, path, body);
      if (reported !== null) leases.renewed(reported, Date.now());
    }
  };
  try {
    const address = { url: cluster.kubeUrl, ca: cluster.kubeCa, token: cluster.kubeToken };
    const worker = await startWorker({ folder, parts, kube: address, machines, variables });
    const apiserverCpuSeconds = () => kube.pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
    const restarting = restartEachMinute(tunnel, ended.signal);
    return await Promise.race([work({ worker, apiserverCpuSeconds, died: died.signal }), restarting]);
  } finally {
    ended.abort();
    await parts.stop();
    await kube.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Restarts the Tunnel each minute. Rejects if `ended` is aborted; never resolves. */
async function restartEachMinute(tunnel: Tunnel, ended: AbortSignal): Promise<never> {
  for (let turn = 0; ; turn++) {
    await wait(RESTARTS_EVERY_MS - AWAY_MS, undefined, { signal: ended });
    tunnel.way = WAYS[turn % WAYS.length] ?? "open";
    tunnel.cut();
    await wait(AWAY_MS, undefined, { signal: ended });
    tunnel.way = "open";
    // The recorded requests are deleted: those of many machines in an hour are too many to keep.
    tunnel.taken.length = 0;
  }
}

function renewTimeOf(body: string): number {
  const lease = JSON.parse(body) as { spec?: { renewTime?: string } };
  return Date.parse(lease.spec?.renewTime ?? "");
}
