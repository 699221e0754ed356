// What the tests of the watch do to Nodes as others do it, with a real kubectl, and what they see of the Worker: its
// writes, and what it answers to an operator.
import { execFile, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { V1Node } from "@kubernetes/client-node";
import type { ReadinessAnswer } from "../../../shared/protocol/operator-answers.ts";
import { eventually, partOf, ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import type { RealCluster } from "./cluster.ts";
import type { PassedWrite } from "./proxy.ts";

const run = promisify(execFile);

export interface WatchedNodes {
  /** A command line as an operator types it; resolves with when it had ended, in milliseconds since 1970. */
  kubectl: (line: string) => Promise<number>;
  /** What the Worker answers to an operator. */
  ask: <T>(path: string) => Promise<T>;
  phaseOf: (name: string) => Promise<string | null>;
  /** What `rollcall` prints. */
  rollcall: (...args: string[]) => Promise<string>;
  /** The check `watch` of GET /readyz. */
  watch: () => Promise<ReadinessAnswer["checks"][number] | undefined>;
  isLive: () => Promise<boolean>;
  /** It is, and every machine's object knows of all that was seen. */
  isSettled: () => Promise<boolean>;
  /** The Worker's writes of this Node that took effect since; leases are none. */
  nodeWrites: (name: string, sinceMs?: number) => PassedWrite[];
  /** The machine's first report since then, as its lease has it; Infinity: there was none. */
  firstRenewalMs: (name: string, sinceMs: number) => number;
  hasEvent: (name: string, reason: string, sinceMs: number) => boolean;
  /** How many machines' objects there are. */
  objects: () => number;
  killWorker: () => Promise<void>;
  /** Starts the Worker that was killed. */
  startWorker: () => Promise<void>;
  end: () => void;
}

export async function watchedNodes(cluster: RealCluster, assets: string): Promise<WatchedNodes> {
  const { admin, proxy, start, stateFolder } = cluster;
  const folder = temporaryFolder();
  const kubeconfig = join(folder.path, "kubeconfig");
  writeFileSync(kubeconfig, admin.exportConfig(), { mode: 0o600 });
  const [, url = ""] = await start.printed(/^Worker ready at (\S+)$/m);
  const environment = { PATH: process.env["PATH"], HOME: folder.path, GOGC: "off" };
  const worker = await partOf(start, "worker");
  const secret = readFileSync(join(stateFolder, "admin-secret"), "utf8").trim();
  const pids = [worker.pid];

  const ask = async <T>(path: string) => {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${secret}` } });
    return (await answer.json()) as T;
  };
  const nodeWrites = (name: string, sinceMs = 0) =>
    proxy.writes.filter(
      ({ request, atMs }) => atMs >= sinceMs && request.startsWith(`PATCH /api/v1/nodes/${name}/`),
    );
  const watch = async () =>
    (await ask<ReadinessAnswer>("/readyz")).checks.find(({ check }) => check === "watch");
  return {
    async kubectl(line) {
      const args = ["--kubeconfig", kubeconfig, ...line.split(" ")];
      await run(join(assets, "kubectl"), args, { env: environment });
      return Date.now();
    },
    ask,
    phaseOf: async (name) => (await ask<{ phase: string | null }>(`/v1/nodes/${name}`)).phase,
    async rollcall(...args) {
      const env = { ...environment, ROLLCALL_URL: url, ROLLCALL_ADMIN_SECRET: secret };
      return (await run(process.execPath, [join(ROOT, "infra/operator/main.ts"), ...args], { env })).stdout;
    },
    watch,
    isLive: async () => (await watch())?.message.startsWith("live, ") ?? false,
    isSettled: async () => /^live, .* 0 changes wait$/.test((await watch())?.message ?? ""),
    nodeWrites,
    firstRenewalMs: (name, sinceMs) =>
      proxy.writes.find(
        ({ request, atMs }) =>
          atMs >= sinceMs && request.startsWith("PUT ") && request.endsWith(`/leases/${name}`),
      )?.atMs ?? Infinity,
    hasEvent: (name, reason, sinceMs) =>
      proxy.writes.some(({ atMs, object }) => {
        const event = object as { reason?: string; involvedObject?: { name?: string } };
        return atMs >= sinceMs && event.reason === reason && event.involvedObject?.name === name;
      }),
    objects: () =>
      readdirSync(join(stateFolder, "worker/objects/rollcall-node")).filter((name) =>
        name.endsWith(".sqlite"),
      ).length,
    async killWorker() {
      process.kill(pids.at(-1) as number, "SIGKILL");
      await eventually(() =>
        fetch(`${url}/livez`).then(
          () => false,
          () => true,
        ),
      );
    },
    async startWorker() {
      const log = openSync(join(stateFolder, "logs/worker.log"), "a");
      const again = spawn("sh", ["-c", `exec ${worker.command}`], { stdio: ["ignore", log, log] });
      closeSync(log);
      pids.push(again.pid as number);
      await eventually(async () => (await fetch(`${url}/livez`)).ok);
    },
    end() {
      // The first one is npm start's to end.
      for (const pid of pids.slice(1).slice(-1)) process.kill(pid, "SIGKILL");
      folder.remove();
    },
  };
}

export function labelsOf({ object }: PassedWrite): Record<string, string> {
  return (object as V1Node).metadata?.labels ?? {};
}
