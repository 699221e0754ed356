// Starts a Worker in workerd, the embedded apiserver, and machines that run in the test's process. The machines'
// facts are made up; their connections are real.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { KubeConfig } from "@kubernetes/client-node";
import { mintToken } from "../../../infra/local/admin.ts";
import { startApiserver } from "../../../infra/local/apiserver/serve.ts";
import { writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { simulatedFacts, simulatedVitals } from "../../../infra/local/simulated-machine.ts";
import { defaultConfiguration } from "../../../node-shim/config/config.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { enrol, type EnrolledMachine } from "../../../node-shim/worker-link/requests.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { nodesOf, readyOf, renewals } from "../../lab/bench/local-fleet.ts";
import { adminOf, eventually, temporaryFolder } from "../local-cluster.ts";
import { type OwnCluster, type OwnWorker, startOwnWorker, type WorkerAccess } from "../own-worker.ts";
import { thisRun } from "../run-record.ts";
import { sharedPlace } from "../shared-place.ts";
import { type RunningShim, runShim, type ShimWish } from "./running-shim.ts";

export interface MachineWish extends Pick<
  ShimWish,
  "deadlineMs" | "changed" | "asked" | "reported" | "clock" | "answering"
> {
  /** The number in the machine's name, which is `sim-INDEX`. */
  index: number;
  /** Milliseconds between two reports of the machine. Absent: 2 s. */
  intervalMs?: number;
  /** Milliseconds between two status writes without a change. Absent: 5 minutes. */
  statusMs?: number;
  /** The duration of the machine's lease in seconds. Absent: 20 s. */
  leaseSeconds?: number;
  /** The origin that the machine connects to. Absent: the Worker itself. */
  origin?: string;
  /** Facts in addition to the simulated ones. */
  facts?: Partial<Facts>;
}

/** An enrolled machine. A test can run several shims with this identity. */
export interface PlacedMachine {
  enrolled: EnrolledMachine;
  run: (choice?: Partial<MachineWish>) => RunningShim;
}

export interface SocketPlace<W extends WorkerAccess = OwnWorker> {
  worker: W;
  admin: KubeConfig;
  /** Enrols a machine. */
  machine: (wish: MachineWish) => Promise<PlacedMachine>;
  /** Enrols a machine and runs its shim. */
  shim: (wish: MachineWish) => Promise<RunningShim>;
  /** Returns the time of each lease's last renewal, by machine name, in milliseconds since 1970. */
  renewals: () => Promise<Map<string, number>>;
  /**
   * Resolves once each named lease was renewed after `sinceMs`. Returns the time at which the last lease got its
   * first renewal.
   */
  renewed: (names: readonly string[], sinceMs: number) => Promise<number>;
  /** Returns the status of each Node's Ready condition, by name. */
  ready: () => Promise<Map<string, string>>;
  /** Returns the number of leases that gateways have renewed since workerd started. */
  quietHeartbeats: () => Promise<number>;
  /** Returns the machine's state in the fleet index. */
  stateOf: (name: string) => Promise<string | undefined>;
  stop: () => Promise<void>;
}

/**
 * The default report interval: short, so that a test sees several renewals. The Worker renews a lease at most once in
 * 4.5 s.
 */
const INTERVAL_MS = 2000;
const LEASE_SECONDS = 20;
const WITHIN_MS = 9000;

/** An apiserver that a place's Worker writes to: its address and credentials, and a function that stops it. */
export interface PlacedApiserver {
  cluster: OwnCluster;
  /** Variables of the Worker, in addition to the defaults. */
  variables?: Record<string, string>;
  stop: () => Promise<void>;
}

/**
 * Starts a Worker and its apiserver. `origins` are those of proxies in front of the Worker. `place` starts the
 * apiserver, and writes its administrator's kubeconfig to FOLDER/kubeconfig.
 */
export async function startSocketPlace(
  origins: readonly string[] = [],
  place: (folder: string) => Promise<PlacedApiserver> = embeddedApiserver,
): Promise<SocketPlace> {
  const folder = temporaryFolder();
  const { cluster, variables = {}, ...apiserver } = await place(folder.path);
  const admin = adminOf(folder.path);
  const worker = await startOwnWorker(folder.path, cluster, { origins, variables });
  return socketPlace(worker, admin, async () => {
    await worker.stop();
    await apiserver.stop();
    folder.remove();
  });
}

/** Returns a place on the Worker that the suite shares. Each test file numbers its machines with other indices. */
export async function sharedSocketPlace(): Promise<SocketPlace<WorkerAccess>> {
  const { worker, admin } = await sharedPlace();
  return socketPlace(worker, admin, () => Promise.resolve());
}

/** Returns a place on this Worker; `stop` ends the Worker and its apiserver. */
async function socketPlace<W extends WorkerAccess>(
  worker: W,
  admin: KubeConfig,
  stop: () => Promise<void>,
): Promise<SocketPlace<W>> {
  const joinToken = await mintToken(worker.url, worker.adminSecret, {
    names: "sim-*",
    uses: 1000,
    withoutFactsOnlyTaint: false,
  });
  thisRun().secret("join token", joinToken);
  const running: RunningShim[] = [];
  const machine: SocketPlace<W>["machine"] = async (wish) => {
    const own = await enrolledMachine(joinToken, { origin: worker.url, ...wish });
    return {
      enrolled: own.machine,
      run(choice = {}) {
        const shim = runMachine(own, { ...wish, ...choice });
        running.push(shim);
        return shim;
      },
    };
  };
  return {
    worker,
    admin,
    machine,
    shim: async (wish) => (await machine(wish)).run(),
    renewals: () => renewals(admin),
    renewed: (names, sinceMs) => untilRenewed(admin, names, sinceMs),
    ready: async () =>
      new Map((await nodesOf(admin)).map((node) => [node.metadata?.name ?? "", readyOf(node)])),
    quietHeartbeats: () => quietHeartbeats(worker),
    stateOf: (name) => stateOf(worker, name),
    async stop() {
      await Promise.all(running.map((shim) => shim.stop()));
      await stop();
    },
  };
}

/**
 * Starts the embedded apiserver. Its node controller waits ten minutes before it sets a Node to Unknown. Even on a slow
 * computer no Node then becomes Unknown.
 */
export async function embeddedApiserver(folder: string): Promise<PlacedApiserver> {
  const nodeLifecycle = { monitorGracePeriodMs: 600_000 };
  const apiserver = await startApiserver({ dir: join(folder, "cluster"), port: 0, nodeLifecycle });
  const { url: kubeUrl, caFile, adminToken: kubeToken } = apiserver;
  const kubeCa = readFileSync(caFile, "utf8");
  writeKubeconfig(join(folder, "kubeconfig"), kubeUrl, kubeCa, kubeToken);
  return { cluster: { kubeUrl, kubeCa, kubeToken }, stop: apiserver.stop };
}

interface OwnMachine {
  machine: EnrolledMachine;
  ticket: string;
}

async function enrolledMachine(
  joinToken: string,
  { index, origin }: MachineWish & { origin: string },
): Promise<OwnMachine> {
  const name = `sim-${index}`;
  const key = await makeMachineKey();
  thisRun().secret("machine key", String(key.jwk.d));
  const { send, close } = httpTransport(origin, WITHIN_MS);
  const asking = { name, origin, joinToken, machineID: name, systemUUID: name };
  let outcome = await enrol(send, key, asking);
  // A busy local Worker asks a machine to wait, as `node-shim join` does.
  while (!outcome.ok && outcome.error.reason === "refused" && outcome.error.problem.reason === "busy") {
    await wait(outcome.error.retryAfterMs ?? 1000);
    outcome = await enrol(send, key, asking);
  }
  close();
  if (!outcome.ok) throw new Error(`${name} could not enrol: ${JSON.stringify(outcome.error)}`);
  const { kid, ticket } = outcome.value;
  return { machine: { name, origin, key, kid }, ticket };
}

function runMachine({ machine, ticket }: OwnMachine, wish: MachineWish): RunningShim {
  const { index, deadlineMs = WITHIN_MS } = wish;
  return runShim({
    ...wish,
    machine,
    ticket,
    deadlineMs,
    facts: factsOf(wish),
    vitals: () => simulatedVitals(index),
    http: httpTransport(machine.origin, deadlineMs),
  });
}

function factsOf(wish: MachineWish): Facts {
  const { index, intervalMs = INTERVAL_MS, leaseSeconds = LEASE_SECONDS } = wish;
  const facts = simulatedFacts(index, defaultConfiguration());
  const { statusMs = facts.settings.nodeStatusReportFrequencyMs } = wish;
  const settings = {
    ...facts.settings,
    nodeStatusUpdateFrequencyMs: intervalMs,
    nodeStatusReportFrequencyMs: statusMs,
    nodeLeaseDurationSeconds: leaseSeconds,
  };
  return { ...facts, ...wish.facts, settings };
}

function untilRenewed(admin: KubeConfig, names: readonly string[], sinceMs: number): Promise<number> {
  const seenMs = new Map<string, number>();
  return eventually(async () => {
    const renewed = await renewals(admin);
    for (const name of names) {
      const atMs = renewed.get(name) ?? 0;
      if (atMs > sinceMs && !seenMs.has(name)) seenMs.set(name, atMs);
    }
    return seenMs.size === names.length && Math.max(...seenMs.values());
  });
}

async function askWorker({ url, adminSecret }: WorkerAccess, path: string): Promise<string> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${adminSecret}` } });
  return answer.text();
}

async function quietHeartbeats(worker: WorkerAccess): Promise<number> {
  const counted = /^rollcall_gateway_quiet_heartbeats_total\{.*\} (\d+)/gm;
  const found = [...(await askWorker(worker, "/metrics")).matchAll(counted)];
  return found.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function stateOf(worker: WorkerAccess, name: string): Promise<string | undefined> {
  const text = await askWorker(worker, "/v1/machines?format=ndjson&fields=name,state");
  const lines = text.split("\n").filter((line) => line !== "");
  const machines = lines.map((line) => JSON.parse(line) as { name: string; state: string });
  return machines.find((machine) => machine.name === name)?.state;
}
