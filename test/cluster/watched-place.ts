// Starts a Worker that watches its machines' Nodes on the breakable server. Through a proxy a test can disturb the
// Worker's requests, and read the Worker's writes.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { V1Node } from "@kubernetes/client-node";
import { applyFile, objectsOf, pathOf, workerToken, writeKubeconfig } from "../../infra/local/kubernetes.ts";
import type { ReadinessAnswer } from "../../shared/protocol/operator-answers.ts";
import { ROOT } from "../e2e/local-cluster.ts";
import type { RunningShim } from "../e2e/sockets/running-shim.ts";
import { type PlacedMachine, type SocketPlace, startSocketPlace } from "../e2e/sockets/socket-place.ts";
import { type PassedWrite, type Proxy, startProxy } from "./proxy.ts";
import { breakableServer, hasControllerManager, KUBECTL, type ServerInTurn } from "./servers.ts";

const PODS = "infra/rbac/pods.yaml";
/** The time after which the node controller marks a silent machine's Node as Unknown. */
const GRACE = "6s";
const WISH = { intervalMs: 1000, leaseSeconds: 4 };
/** The machine whose status the Worker writes every two seconds, after reading the Node. */
export const EAGER = "sim-3";

export interface WatchedPlace {
  server: ServerInTurn;
  /** The Worker's token for the apiserver. */
  kubeToken: string;
  place: SocketPlace;
  proxy: Proxy;
  /** The machines and their shims, by the machine's name. A second call of a machine's `run` restarts its shim. */
  machines: ReadonlyMap<string, { machine: PlacedMachine; shim: RunningShim }>;
  /**
   * Runs command lines in order, as an operator types them. Returns when the last command ended, in milliseconds
   * since 1970.
   */
  kubectl: (...lines: string[]) => number;
  /** Returns the Worker's answer to an operator's request for the path. */
  ask: <T>(path: string) => Promise<T>;
  phaseOf: (name: string) => Promise<string | null>;
  /** Returns the check `watch` of GET /readyz. */
  watch: () => Promise<ReadinessAnswer["checks"][number] | undefined>;
  isLive: () => Promise<boolean>;
  /**
   * Reports whether the watch is active, and every machine's object has processed all changes that the watch has
   * delivered.
   */
  isSettled: () => Promise<boolean>;
  /** Returns the Worker's writes of this Node that took effect since `sinceMs`, without leases. */
  nodeWrites: (name: string, sinceMs?: number) => PassedWrite[];
  /** Returns when the machine's lease was first renewed after `sinceMs`; Infinity if it was not. */
  firstRenewalMs: (name: string, sinceMs: number) => number;
  hasEvent: (name: string, reason: string, sinceMs: number) => boolean;
  stop: () => Promise<void>;
}

/** Starts the Worker and the machines `sim-1` to `sim-COUNT`. */
export async function startWatchedPlace(count: number): Promise<WatchedPlace> {
  const server = await breakableServer();
  if (hasControllerManager)
    await server.startControllers({
      controllers: ["node-lifecycle-controller", "daemonset-controller"],
      flags: [
        `--node-monitor-grace-period=${GRACE}`,
        "--node-monitor-period=1s",
        `--node-startup-grace-period=${GRACE}`,
      ],
    });
  let [proxy, kubeconfig, kubeToken]: [Proxy | undefined, string, string] = [undefined, "", ""];
  const place = await startSocketPlace([], async (folder) => {
    const ca = readFileSync(server.caFile, "utf8");
    kubeconfig = join(folder, "kubeconfig");
    const cluster = writeKubeconfig(kubeconfig, server.url, ca, server.adminToken);
    for (const file of ["infra/rbac/rollcall.yaml", PODS]) await applyFile(cluster, join(ROOT, file));
    proxy = await startProxy(join(folder, "proxy"), server.url, ca);
    kubeToken = await workerToken(cluster.admin);
    const { stop: stopProxy } = proxy;
    return {
      cluster: { kubeUrl: proxy.url, kubeCa: proxy.ca, kubeToken },
      variables: { FAIL_STRANDED_PODS: "on" },
      async stop() {
        await stopProxy();
        // Later tests on this server test the rights of rollcall.yaml alone.
        for (const object of objectsOf(join(ROOT, PODS)).toReversed())
          await cluster.admin({ method: "DELETE", path: pathOf(object) });
      },
    };
  });
  const names = Array.from({ length: count }, (_, at) => at + 1);
  const machines = new Map(
    await Promise.all(
      names.map(async (index) => {
        const name = `sim-${index}`;
        const machine = await place.machine({ index, ...WISH, ...(name === EAGER && { statusMs: 2000 }) });
        return [name, { machine, shim: machine.run() }] as const;
      }),
    ),
  );
  return { server, kubeToken, place, machines, ...seen(place, proxy as unknown as Proxy, kubeconfig), stop };

  async function stop(): Promise<void> {
    await place.stop();
    server.release();
  }
}

function seen({ worker }: SocketPlace, proxy: Proxy, kubeconfig: string) {
  const ask = async <T>(path: string) => {
    const headers = { authorization: `Bearer ${worker.adminSecret}` };
    return (await (await fetch(worker.url + path, { headers })).json()) as T;
  };
  const watch = async () =>
    (await ask<ReadinessAnswer>("/readyz")).checks.find(({ check }) => check === "watch");
  return {
    proxy,
    kubectl(...lines: string[]) {
      const env = {
        PATH: process.env["PATH"],
        HOME: join(kubeconfig, ".."),
        KUBECONFIG: kubeconfig,
        GOGC: "off",
      };
      for (const line of lines) execFileSync(KUBECTL, line.split(" "), { cwd: ROOT, env, stdio: "pipe" });
      return Date.now();
    },
    ask,
    phaseOf: async (name: string) => (await ask<{ phase: string | null }>(`/v1/nodes/${name}`)).phase,
    watch,
    isLive: async () => (await watch())?.message.startsWith("live, ") ?? false,
    isSettled: async () => /^live, .* 0 changes wait$/.test((await watch())?.message ?? ""),
    nodeWrites: (name: string, sinceMs = 0) =>
      proxy.writes.filter(
        ({ request, atMs }) => atMs >= sinceMs && request.startsWith(`PATCH /api/v1/nodes/${name}/`),
      ),
    firstRenewalMs: (name: string, sinceMs: number) =>
      proxy.writes.find(
        ({ request, atMs }) =>
          atMs >= sinceMs && request.startsWith("PUT ") && request.endsWith(`/leases/${name}`),
      )?.atMs ?? Infinity,
    hasEvent: (name: string, reason: string, sinceMs: number) =>
      proxy.writes.some(({ atMs, object }) => {
        const event = object as { reason?: string; involvedObject?: { name?: string } };
        return atMs >= sinceMs && event.reason === reason && event.involvedObject?.name === name;
      }),
  };
}

export function labelsOf({ object }: PassedWrite): Record<string, string> {
  return (object as V1Node).metadata?.labels ?? {};
}
