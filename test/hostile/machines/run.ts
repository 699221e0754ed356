// Machines that are enrolled and mean harm, beside honest ones and an operator at work; judged by what the apiserver, the
// operator and the honest machines find. Real: workerd, HTTP, time, and the apiserver where there is one.
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker as Thread } from "node:worker_threads";
import { mintedTokenSchema } from "../../../shared/protocol/operator-answers.ts";
import { ask, readAnswer } from "../../../infra/operator/client.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { type BenchWorker, startBenchWorker } from "../../bench/workerd.ts";
import { randomOf } from "../random.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { type Findings, findings, grantOfName, isHostile, nameOfHostile } from "./findings.ts";
import { type Honest, startHonest } from "./honest.ts";
import type { HostileMachine } from "./hostile-machine.ts";
import type { HostileOrders, Said } from "./hostile-thread.ts";
import { type KubeDoor, openKubeDoor } from "./kube-door.ts";
import type { Coveted } from "./kinds.ts";
import { addKubelets, differences, notReady, renewAsKubelet, snapshotOf } from "./neighbours.ts";
import { COVETED_MARKS, missingFromAudit, type Operator, operator } from "./operator.ts";
import { costs } from "./traffic.ts";
import type { Outcomes, Plan } from "./verdict.ts";

const THREAD = fileURLToPath(new URL("hostile-thread.ts", import.meta.url));
const ENTRY = fileURLToPath(new URL("../../worker/support/sized-entry.ts", import.meta.url));
const HONEST = ["honest-0", "honest-1", "honest-2", "honest-3"];
const KUBELETS = ["kubelet-0", "kubelet-1"];
const HOUR_MS = 3_600_000;
/** A fifth of the time, and no more than this, nothing is hostile: that is what the rest is compared with. */
const MAX_BEFORE_MS = 60_000;
/** An honest machine asks for fewer requests to the apiserver than it may have. */
const HONEST_EVERY_MS = 4000;
/** In a short run they report so often all the same: as machines do of which much changes. */
const HONEST_REPORTS = 10;
/** Or more often, so that there are some looks in a short run. */
const LOOK_EVERY_MS = 1000;
const LOOKS = 50;

/** `progress`: how many seconds of the run are over, and acts so far. */
export type Progress = (seconds: number, acts: number) => void;

export async function runMachines(plan: Plan, progress: Progress): Promise<Outcomes> {
  const cluster = await startCluster();
  const found = findings();
  const door = await openKubeDoor(cluster, found.onNode);
  const stop = new AbortController();
  let worker: BenchWorker | undefined;
  let honest: Honest | undefined;
  try {
    worker = await startBenchWorker({ url: door.url, token: cluster.workersToken }, "honest-*", {
      entry: ENTRY,
    });
    await addKubelets(cluster.admin, KUBELETS);
    const totalMs = plan.minutes * 60_000;
    honest = await startHonest(worker, HONEST, Math.min(HONEST_EVERY_MS, totalMs / HONEST_REPORTS));
    return await attack({ plan, progress, totalMs, cluster, door, worker, honest, found, stop: stop.signal });
  } finally {
    stop.abort();
    await honest?.stop();
    await worker?.stop();
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
  found: Findings;
  /** Ends what goes on beside. */
  stop: AbortSignal;
}

async function attack(attacked: Attacked): Promise<Outcomes> {
  const { plan, totalMs, cluster, door, worker, honest, found } = attacked;
  const kubelet = renewAsKubelet(cluster.admin, KUBELETS[0]!, attacked.stop);
  const beforeMs = Math.min(MAX_BEFORE_MS, totalMs / 5);
  const putAtStart = await cluster.putBytes();
  await wait(beforeMs);
  const honestBefore = honest.durations();
  const putBefore = await cluster.putBytes();
  const others = await snapshotOf(cluster.admin, isHostile);

  const startedMs = performance.now();
  const forMs = totalMs - beforeMs;
  const thread = startThread(
    { seed: plan.seed, url: worker.url, forMs, machines: await machinesOf(plan, worker) },
    found,
  );
  const operating = operator({
    worker: worker.operator,
    admin: cluster.admin,
    marks: found.marks,
    random: randomOf(plan.seed, -1),
    hostile: () => [...found.nodes.keys()],
    kept: [...HONEST, ...KUBELETS],
  });
  const watched = await watch(attacked, { untilMs: startedMs + forMs, forMs, beforeMs, operating });
  await thread.ended;
  await Promise.race([kubelet, Promise.resolve()]);

  const endedMs = performance.now();
  const honestDuring = honest.durations();
  const names = [...found.nodes.keys()];
  for (const name of names) {
    const { status, body } = await cluster.admin("GET", `/api/v1/nodes/${name}`);
    if (status === 200) found.onNode(body as Node);
  }
  const putAfter = await cluster.putBytes();
  const rateBefore = ratePerHour(putAtStart, putBefore, beforeMs);
  const rateDuring = ratePerHour(
    watched.putAfterMinute.bytes,
    putAfter,
    endedMs - watched.putAfterMinute.atMs,
  );
  return {
    plan,
    apiserver: cluster.title,
    kinds: found.kinds,
    othersChanged: differences(others, await snapshotOf(cluster.admin, isHostile)),
    elsewhere: door.requests
      .filter(({ kind }) => kind === "elsewhere")
      .map(({ method, path }) => `${method} ${path}`),
    beyondGrants: [...found.beyond],
    marks: found.marks.count(),
    marksLost: [...found.lost],
    operatorActs: operating.done.length,
    auditLost: await missingFromAudit(worker.operator, operating.done),
    costs: costs(
      door.requests.filter(({ name }) => isHostile(name)),
      endedMs,
    ),
    etcdBytesAnHour:
      rateBefore === null || rateDuring === null ? null : (rateDuring - rateBefore) / plan.machines,
    honestBefore,
    honestDuring,
    honestFaults: [...honest.faults, ...watched.notReady],
    failures: [...found.failures, ...operating.faults, ...thread.faults],
    overLimits: found.overLimits,
    objectBytes: await sizesOf(worker, names),
    residentBytes: watched.residentBytes,
  };
}

/** null: there is no etcd, or there was no time to measure. */
function ratePerHour(from: number | null, to: number | null, ms: number): number | null {
  return from === null || to === null || ms < 1000 ? null : ((to - from) * HOUR_MS) / ms;
}

async function machinesOf(
  { machines }: Plan,
  { operator: connection }: BenchWorker,
): Promise<HostileMachine[]> {
  const coveted: Coveted = { names: [...HONEST, ...KUBELETS], ...COVETED_MARKS };
  const mint = async (wish: object) => {
    const body = { uses: 5000, expiresInSeconds: 86_400, ...wish };
    const answer = await ask(connection, { method: "POST", path: "/v1/tokens", body });
    const minted = answer.ok ? readAnswer(mintedTokenSchema, answer.value) : answer;
    if (!minted.ok) throw new Error(minted.error);
    return minted.value.token;
  };
  const joinTokenOfAll = await mint({ names: "*" });
  const found: HostileMachine[] = [];
  for (let number = 0; number < machines; number++) {
    const name = nameOfHostile(number);
    const joinToken = await mint({ names: `${name}*`, ...grantOfName(name) });
    found.push({ number, name, joinToken, joinTokenOfAll, coveted });
  }
  return found;
}

function startThread(orders: HostileOrders, found: Findings): { ended: Promise<void>; faults: string[] } {
  const faults: string[] = [];
  const thread = new Thread(THREAD, { workerData: orders });
  thread.on("message", (said: Said) => found.note(said));
  // A machine that fails is no machine that was refused: the run proves nothing then.
  thread.on("error", (error) => faults.push(`the hostile machines ended: ${error.stack}`));
  const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  return { ended, faults };
}

interface Watched {
  notReady: string[];
  residentBytes: number[];
  /** What etcd had been given when the first minute was over, or the attack where it was shorter. */
  putAfterMinute: { bytes: number | null; atMs: number };
}

interface Watching {
  untilMs: number;
  forMs: number;
  /** How long nothing was hostile. */
  beforeMs: number;
  operating: Operator;
}

/** Once a second the operator does something, and honest machines, memory and etcd are looked at. */
async function watch(
  { cluster, worker, found, progress }: Attacked,
  { untilMs, forMs, beforeMs, operating }: Watching,
): Promise<Watched> {
  const startedMs = performance.now();
  const watched: Watched = {
    notReady: [],
    residentBytes: [],
    putAfterMinute: { bytes: await cluster.putBytes(), atMs: startedMs },
  };
  for (;;) {
    const nowMs = performance.now();
    if (nowMs >= untilMs) return watched;
    if (watched.putAfterMinute.atMs < startedMs + 60_000)
      watched.putAfterMinute = { bytes: await cluster.putBytes(), atMs: nowMs };
    if (found.nodes.size > 0) await operating.act();
    watched.residentBytes.push(worker.residentBytes());
    watched.notReady.push(...(await notReady(cluster.admin, HONEST, Date.now())));
    progress((nowMs - startedMs + beforeMs) / 1000, found.acts());
    await wait(
      Math.max(0, Math.min(nowMs + Math.min(LOOK_EVERY_MS, forMs / LOOKS), untilMs) - performance.now()),
    );
  }
}

async function sizesOf({ url }: BenchWorker, names: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const name of names) sizes.set(name, (await (await fetch(`${url}/sized/${name}`)).json()) as number);
  return sizes;
}
