// A Worker in workerd, the embedded apiserver, and machines that the test runs: what they report is made up, the connections
// are not.
import { readFileSync } from "node:fs";
import { join } from "node:path";
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
  "deadlineMs" | "changed" | "asked" | "reported" | "clock"
> {
  /** Its name is `sim-INDEX`. */
  index: number;
  /** How often it reports; absent: every 2 s. */
  intervalMs?: number;
  /** How often its status is written although nothing has changed; absent: every 5 minutes. */
  statusMs?: number;
  /** Absent: 20 s. */
  leaseSeconds?: number;
  /** Where its connections go; absent: to the Worker itself. */
  origin?: string;
}

/** A machine that is enrolled, which several processes may claim to be. */
export interface PlacedMachine {
  enrolled: EnrolledMachine;
  run: (choice?: Partial<MachineWish>) => RunningShim;
}

export interface SocketPlace<W extends WorkerAccess = OwnWorker> {
  worker: W;
  admin: KubeConfig;
  /** Enrols it. */
  machine: (wish: MachineWish) => Promise<PlacedMachine>;
  /** The same, and runs it. */
  shim: (wish: MachineWish) => Promise<RunningShim>;
  /** Renewals by name, in milliseconds since 1970. */
  renewals: () => Promise<Map<string, number>>;
  /** Resolves once each of these was renewed after that time; with the last one's first renewal that was seen. */
  renewed: (names: readonly string[], sinceMs: number) => Promise<number>;
  /** Names of Nodes with their Ready condition. */
  ready: () => Promise<Map<string, string>>;
  /** By which gateways have renewed leases since workerd started. */
  quietHeartbeats: () => Promise<number>;
  /** What the fleet index calls it. */
  stateOf: (name: string) => Promise<string | undefined>;
  stop: () => Promise<void>;
}

/** Often enough that a test sees some; the Worker renews a lease each 4.5 s at most. */
const INTERVAL_MS = 2000;
const LEASE_SECONDS = 20;
const WITHIN_MS = 9000;

/** How the Worker comes to an apiserver. */
export interface PlacedApiserver {
  cluster: OwnCluster;
  /** Of the Worker, beside the defaults. */
  variables?: Record<string, string>;
  stop: () => Promise<void>;
}

/** `origins`: of what stands before the Worker. `place`: writes a kubeconfig of its administrator to FOLDER/kubeconfig. */
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

/** On the suite's Worker: each file has indices of its own. */
export async function sharedSocketPlace(): Promise<SocketPlace<WorkerAccess>> {
  const { worker, admin } = await sharedPlace();
  return socketPlace(worker, admin, () => Promise.resolve());
}

/** `stop` ends the Worker and its apiserver. */
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

/** No Node is given up by its controller, however slow a computer is. */
async function embeddedApiserver(folder: string): Promise<PlacedApiserver> {
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
  const outcome = await enrol(send, key, asking).finally(close);
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
  return { ...facts, settings };
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
