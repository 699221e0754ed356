// Runs enrolled machines that attack, next to honest machines and an operator at work. Judges by the findings at
// the apiserver, at the operator and at the honest machines. Real: workerd, HTTP, time, and the apiserver if there
// is one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { type BenchWorker, ROOT, startBenchWorker } from "../../bench/workerd.ts";
import { randomOf } from "../random.ts";
import {
  ALL,
  deliveriesTo,
  fleetWide,
  historyOf,
  type Patient,
  type Receivers,
  startPatient,
  startReceivers,
} from "./alerts.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { type Findings, findings } from "./findings.ts";
import { actsLastMs } from "./hostile-machine.ts";
import { type Honest, startHonest } from "./honest.ts";
import { type KubeDoor, openKubeDoor } from "./kube-door.ts";
import { HONEST, isHostile, KUBELETS, PATIENT } from "./names.ts";
import { addKubelets, differences, renewAsKubelet, snapshotOf } from "./neighbours.ts";
import { missingFromAudit, operator } from "./operator.ts";
import { hostileMachines, startHostile } from "./start-hostile.ts";
import { loadsOf } from "./shares.ts";
import { costs } from "./traffic.ts";
import type { Outcomes, Plan } from "./verdict.ts";
import { watch } from "./watch.ts";

const ENTRY = fileURLToPath(new URL("../../../worker/support/sized-entry.ts", import.meta.url));
const HOUR_MS = 3_600_000;
/** The path of the cluster's version, for which the cluster object asks. */
const VERSION = "/version";
/** The share of the run before the attack: in this time, at most a minute, the baseline is measured. */
const BEFORE = 1 / 5;
const MAX_BEFORE_MS = 60_000;
/**
 * Milliseconds between two reports of an honest machine: the machine causes fewer requests to the apiserver than its
 * limit allows.
 */
const HONEST_EVERY_MS = 4000;
/** The least number of reports of an honest machine. In a short run the machine therefore reports more often. */
const HONEST_REPORTS = 10;
/** The shortest time between two reports: the shortest run lasts until the patient's alerts have arrived. */
const HONEST_LEAST_MS = 2000;

/** Shows the seconds of the run and the number of acts until now. */
type Progress = (seconds: number, acts: number) => void;

/** Runs the plan. `interrupted` ends the run early, with an error; no process or file is left behind. */
export async function runMachines(
  plan: Plan,
  progress: Progress,
  interrupted: AbortSignal,
): Promise<Outcomes> {
  const cluster = await startCluster();
  const found = findings();
  const door = await openKubeDoor(cluster, found.onNode);
  const over = new AbortController();
  const stop = AbortSignal.any([interrupted, over.signal]);
  let worker: BenchWorker | undefined;
  let honest: Honest | undefined;
  let receivers: Receivers | undefined;
  try {
    const variables = { ...deployedVariables(), PRIVATE_WEBHOOKS: "loopback" };
    const choice = { entry: ENTRY, variables };
    worker = await startBenchWorker({ url: door.url, token: cluster.workersToken }, "honest-*", choice);
    await addKubelets(cluster.admin, KUBELETS);
    const totalMs = plan.acts === undefined ? plan.minutes * 60_000 : actsLastMs(plan.acts) / (1 - BEFORE);
    const everyMs = Math.min(HONEST_EVERY_MS, Math.max(HONEST_LEAST_MS, totalMs / HONEST_REPORTS));
    honest = await startHonest(worker, HONEST, everyMs);
    receivers = await startReceivers(worker.operator);
    return await attack({ plan, progress, totalMs, cluster, door, worker, honest, receivers, found, stop });
  } finally {
    over.abort();
    await honest?.stop();
    await worker?.stop();
    await receivers?.stop();
    await door.stop();
    await cluster.stop();
  }
}

interface Attacked {
  plan: Plan;
  progress: Progress;
  totalMs: number;
  cluster: Cluster;
  door: KubeDoor;
  worker: BenchWorker;
  honest: Honest;
  receivers: Receivers;
  found: Findings;
  /** Aborted at the end of the run, to end all that the run has started. */
  stop: AbortSignal;
}

async function attack(attacked: Attacked): Promise<Outcomes> {
  const { plan, progress, totalMs, cluster, door, worker, honest, receivers, found, stop } = attacked;
  const { admin } = cluster;
  const beside: string[] = [];
  void renewAsKubelet(admin, KUBELETS[0], stop).catch((error: unknown) => beside.push(String(error)));
  const beforeMs = Math.min(MAX_BEFORE_MS, totalMs * BEFORE);
  const forMs = totalMs - beforeMs;
  const putAtStart = await cluster.putBytes();
  await wait(beforeMs, undefined, { signal: stop });
  const honestBefore = honest.durations();
  const putBefore = await cluster.putBytes();
  // The Node of the patient changes on purpose.
  const others = await snapshotOf(admin, isNotKept);

  const patient = await startPatient(worker, receivers, forMs, stop);
  const history = await honestHistory(worker);
  const attackedMs = performance.now();
  const machines = await hostileMachines(plan.machines, worker.operator);
  const extent = plan.acts === undefined ? { forMs, acts: Infinity } : { forMs: Infinity, acts: plan.acts };
  const hostile = startHostile({ seed: plan.seed, url: worker.url, ...extent, machines }, found.note);
  stop.addEventListener("abort", hostile.end);
  const operating = operator({
    worker: worker.operator,
    admin,
    marks: found.marks,
    random: randomOf(plan.seed, -1),
    hostile: () => [...found.nodes.keys()],
    kept: [...HONEST, ...KUBELETS],
  });
  const looked = (ms: number) => progress((beforeMs + ms) / 1000, found.acts());
  const watched = await watch({ cluster, worker, found, operating, attack: hostile, forMs, stop, looked });
  await hostile.ended;

  await patient.ended;
  operating.asker.end();

  const endedMs = performance.now();
  const minutes = (endedMs - attackedMs) / 60_000;
  const honestDuring = honest.durations();
  const names = [...found.nodes.keys()];
  for (const name of names) {
    const { status, body } = await admin("GET", `/api/v1/nodes/${name}`);
    if (status === 200) found.onNode(body as Node);
  }
  const { putAfterMinute } = watched;
  const before = anHour(putAtStart, putBefore, beforeMs);
  const during = anHour(putAfterMinute.bytes, await cluster.putBytes(), endedMs - putAfterMinute.atMs);
  const since = ({ atMs }: { atMs: number }) => atMs >= putAfterMinute.atMs;
  const ofMachines = keptIn(door.requests.filter((request) => since(request) && isHostile(request.name)));
  // The machines' share of etcd's bytes equals their share of the objects' JSON. The rest belongs to the operator,
  // who writes whole Nodes as well.
  const share = ofMachines / (ofMachines + keptIn(operating.marked.filter(since)) || 1);
  const elsewhere = door.requests.filter(({ kind, path }) => kind === "elsewhere" && path !== VERSION);
  return {
    plan,
    apiserver: cluster.title,
    kinds: found.kinds,
    othersChanged: differences(others, await snapshotOf(admin, isNotKept)),
    elsewhere: elsewhere.map(({ method, path }) => `${method} ${path}`),
    beyondGrants: [...found.beyond],
    answers: operating.asker.counts(),
    answersForged: operating.asker.faults,
    marks: found.marks.count(),
    marksLost: [...found.lost],
    operatorActs: operating.done.length,
    auditLost: await missingFromAudit(worker.operator, operating.done),
    costs: costs(
      door.requests.filter(({ name }) => isHostile(name)),
      endedMs,
    ),
    etcdBytesAnHour: before === null || during === null ? null : (share * (during - before)) / plan.machines,
    honestBefore,
    honestDuring,
    honestFaults: [...honest.faults, ...watched.notReady],
    failures: [...found.failures, ...operating.faults, ...hostile.faults, ...beside],
    overLimits: found.overLimits,
    deliveries: deliveriesTo(ALL, receivers.deliveries, { fromMs: attackedMs, toMs: endedMs }),
    ...(await alertsAndHistory(worker, { receivers, patient, history })),
    loads: loadsOf(found.nodes),
    minutes,
    objectBytes: await sizesOf(worker, names),
    residentBytes: watched.residentBytes,
  };
}

const isNotKept = (name: string) => isHostile(name) || name === PATIENT;

async function honestHistory({ operator: connection }: BenchWorker): Promise<Map<number, string>> {
  const lines = await Promise.all([...HONEST, PATIENT].map((name) => historyOf(connection, { name })));
  return new Map(lines.flat().map(({ id, name, text }) => [id, `${name}: ${text}`]));
}

interface Heard {
  receivers: Receivers;
  patient: Patient;
  /** The lines about honest machines at the start of the attack. */
  history: ReadonlyMap<number, string>;
}

async function alertsAndHistory(worker: BenchWorker, { receivers, patient, history }: Heard) {
  const kept = await honestHistory(worker);
  const unreachable = await historyOf(worker.operator, { text: "cluster-unreachable" });
  const [last] = await historyOf(worker.operator, {});
  return {
    fleetAlerts: fleetWide(receivers.deliveries),
    toldMs: patient.toldMs,
    untold: patient.untold,
    unreachable: unreachable.map(({ name, text }) => `${name}: ${text}`),
    historyLines: last?.id ?? 0,
    historyLost: [...history].flatMap(([id, line]) => (kept.has(id) ? [] : [line])),
  };
}

function keptIn(writes: readonly { keptBytes: number }[]): number {
  return writes.reduce((sum, { keptBytes }) => sum + keptBytes, 0);
}

/** Returns a deployment's limits for machines from wrangler.toml: a local cluster and a benchmark allow more. */
function deployedVariables(): Record<string, string> {
  const text = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  return Object.fromEntries(
    [...text.matchAll(/^([A-Z_]+) = (\d+)$/gm)].map(([, name, value]) => [name, value]),
  );
}

/** Returns the bytes written to etcd per hour. null if there is no etcd, or if the time was too short to measure. */
function anHour(from: number | null, to: number | null, ms: number): number | null {
  return from === null || to === null || ms < 1000 ? null : ((to - from) * HOUR_MS) / ms;
}

async function sizesOf({ url }: BenchWorker, names: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of names) sizes.set(name, (await (await fetch(`${url}/sized/${name}`)).json()) as number);
  return sizes;
}
