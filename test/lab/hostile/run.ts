// Sends hostile requests to the Worker on workerd, while machines keep reporting. Judges from outside (answers,
// processes, files) and inside (SQLite's counters). Real: workerd, HTTP, the embedded apiserver.
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { startCountingKube } from "../bench/counting-kube.ts";
import { type BenchWorker, startBenchWorker } from "../bench/workerd.ts";
import type { Measured } from "../../worker/support/measured-rows.ts";
import { type Hostile, hostileGenerator } from "./generator.ts";
import { type Answered, type Client, hostileClient } from "./post.ts";
import { randomOf } from "./random.ts";
import { NOW_MS } from "./joining.ts";
import { type Recorded, record } from "./recording.ts";
import { type Offence, offenceOf, type Plan, type Verdict } from "./verdict.ts";

const ENTRY = fileURLToPath(new URL("../../worker/support/hostile-entry.ts", import.meta.url));
/**
 * The number of requests between two checks of rows, objects and memory, and between two heartbeats of the
 * machines.
 */
const AT_ONCE = 500;

export async function runHostile(plan: Plan, progress: (done: number) => void): Promise<Verdict> {
  const kube = await startCountingKube(() => NOW_MS);
  const worker = await startBenchWorker(kube, "*", { entry: ENTRY });
  const client = hostileClient(worker.url);
  let recorded: Recorded | undefined;
  try {
    recorded = await record(worker, randomOf(plan.seed, -3), plan.seed);
    return await attack({ plan, worker, client, recorded, asked: kube.asked, progress });
  } finally {
    recorded?.close();
    client.close();
    await worker.stop();
    await kube.stop();
  }
}

interface Attacking {
  plan: Plan;
  worker: BenchWorker;
  client: Client;
  recorded: Recorded;
  /** Returns the requests to the apiserver since the last call. */
  asked: () => unknown[];
  progress: (done: number) => void;
}

async function attack({ plan, worker, client, recorded, asked, progress }: Attacking): Promise<Verdict> {
  const make = await hostileGenerator(recorded.recording, plan.seed, plan.of);
  const verdict = emptyVerdict(plan);
  const digest = createHash("sha256");
  const objectsBefore = worker.objects();
  const beganMs = performance.now();
  for (let index = plan.from; verdict.sent < plan.requests;) {
    const portion: Hostile[] = [];
    const size = Math.min(AT_ONCE, plan.requests - verdict.sent);
    for (; portion.length < size; index++) {
      const made = make(index);
      if (made === null) verdict.discarded++;
      else portion.push(made);
    }
    for (const each of portion)
      digest.update(JSON.stringify([each.method, each.path, each.headers])).update(each.body);
    await measuredRows(worker);
    asked();
    note(verdict, portion, await client.sendAll(portion));
    const { rowsWritten: rows, refusals, registryRequests } = await measuredRows(worker);
    verdict.registryAsked += registryRequests;
    const asks = asked().length;
    if (rows + asks > 0) verdict.disturbances.push({ from: portion[0]!.index, to: index, rows, asks });
    verdict.rows += rows;
    verdict.refusals += refusals;
    verdict.asked += asks;
    verdict.residentBytes.push(worker.residentBytes());
    // Throws unless the Worker still accepts the machines' heartbeats.
    await recorded.beat();
    progress(verdict.sent);
  }
  const ranMs = performance.now() - beganMs;
  return { ...verdict, ranMs, digest: digest.digest("hex"), objectsMade: worker.objects() - objectsBefore };
}

const emptyVerdict = (plan: Plan): Verdict => ({
  plan,
  sent: 0,
  discarded: 0,
  kinds: new Map(),
  offences: [],
  disturbances: [],
  rows: 0,
  refusals: 0,
  ranMs: 0,
  asked: 0,
  registryAsked: 0,
  objectsMade: 0,
  residentBytes: [],
  digest: "",
});

function note(verdict: Verdict, portion: readonly Hostile[], answers: readonly Answered[]): void {
  for (const [at, hostile] of portion.entries()) {
    const answered = answers[at]!;
    verdict.sent++;
    const answer = "status" in answered ? String(answered.status) : "no answer";
    const answersOfKind = verdict.kinds.get(hostile.kind) ?? new Map<string, number>();
    verdict.kinds.set(hostile.kind, answersOfKind.set(answer, (answersOfKind.get(answer) ?? 0) + 1));
    const offence: Offence | null = offenceOf(hostile, answered);
    if (offence) verdict.offences.push(offence);
  }
}

async function measuredRows({ url }: BenchWorker): Promise<Measured> {
  const answer = await fetch(`${url}/measured/rows/any`);
  return (await answer.json()) as Measured;
}
