// Measures heartbeats while two machines of the same gateway answer bundles of 8 MiB, each to a fast and a slow asker at
// once. Real: workerd, the Worker, the shim's link and its part of a question, TCP, time. Threads of their own play the
// machines that answer, and the askers, so that their work does not delay the measured clocks.
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker as Thread } from "node:worker_threads";
import { operatorBy } from "./asking.ts";
import { type Beaten, beatingFacts, beatUntil } from "./beating.ts";
import type { Benchmark, Progress, Round } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { startCountingKube } from "./counting-kube.ts";
import { renewed } from "./heartbeat-load.ts";
import { once } from "./once.ts";
import type { Orders, ThreadMessage } from "./question-thread.ts";
import { percentile } from "./rounds.ts";
import { someAtOnce } from "./some-at-once.ts";
import { startSocketMachine } from "./socket-machine.ts";
import { startBenchWorker } from "./workerd.ts";

const THREAD = fileURLToPath(new URL("question-thread.ts", import.meta.url));
const MACHINES = 100;
const ASKED = ["m-asked-0", "m-asked-1"];
const STARTS_AT_ONCE = 8;
/** A round: heartbeats without questions, in which the limits of questions recover, and heartbeats with bundles. */
const QUIET_MS = 40_000;
const BUNDLES_MS = 40_000;
const MOST_ROUNDS = 3;

interface Measured {
  quiet: number[][];
  others: number[][];
  asked: number[][];
  bundles: number;
  /** The heartbeats that became reports: their loan had ended, or their status was due. */
  reports: number;
  /** The reports that the Worker refused or did not answer. */
  refused: number;
}

let measured: Measured | undefined;

const measure = once(async (progress: Progress, minutes: number): Promise<Measured> => {
  const kube = await startCountingKube(Date.now, { shortcut: renewed });
  const worker = await startBenchWorker(kube, "m-*");
  const ended = new AbortController();
  const stops: (() => unknown)[] = [kube.stop, worker.stop, () => ended.abort()];
  try {
    const { url, joinToken } = worker;
    const orders = { url, joinToken, operator: await operatorBy(worker.operator), names: ASKED };
    const beats: Beaten[] = [];
    const askedBeats: Beaten[] = [];
    let bundles = 0;
    const start = async (plays: Orders["plays"]) => {
      const thread = new Thread(THREAD, { workerData: { ...orders, plays } satisfies Orders });
      stops.push(() => thread.terminate());
      const isReady = Promise.withResolvers<void>();
      thread.on("error", isReady.reject);
      thread.on("message", (message: ThreadMessage) => {
        if (message === "ready") isReady.resolve();
        else if (message === "bundle") bundles++;
        else askedBeats.push(message);
      });
      await isReady.promise;
      return thread;
    };
    const wish = { facts: beatingFacts(), nowMs: Date.now };
    const names = Array.from({ length: MACHINES }, (_, index) => `m-${index}`);
    await someAtOnce(STARTS_AT_ONCE, names, async (name, index) => {
      progress(`${index} of ${MACHINES} machines`);
      const machine = await startSocketMachine(worker, { name, ...wish });
      await machine.open();
      void beatUntil(machine, ended.signal, (how) => beats.push(how));
    });
    await start("machines");
    const askers = await start("askers");
    await wait(QUIET_MS / 4);
    const found: Measured = { quiet: [], others: [], asked: [], bundles: 0, reports: 0, refused: 0 };
    const rounds = Math.max(
      1,
      Math.min(MOST_ROUNDS, Math.floor((60_000 * minutes) / (QUIET_MS + BUNDLES_MS))),
    );
    const take = (of: Beaten[]) => {
      const taken = of.splice(0);
      found.reports += taken.filter((how) => how === "report").length;
      found.refused += taken.filter((how) => how === "refused").length;
      return taken.filter((how) => typeof how === "number");
    };
    for (let round = 1; round <= rounds; round++) {
      progress(`${round} of ${rounds} rounds`);
      take(beats);
      await wait(QUIET_MS);
      found.quiet.push(take(beats));
      take(askedBeats);
      order(askers, "begin");
      await wait(BUNDLES_MS);
      found.others.push(take(beats));
      found.asked.push(take(askedBeats));
      order(askers, "end");
    }
    return (measured = { ...found, bundles });
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
});

function order(askers: Thread, what: "begin" | "end"): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- only a window's messages have an origin, not a thread's
  askers.postMessage(what);
}

function details(): string {
  if (!measured) return "";
  const { quiet, others, asked, bundles, reports, refused } = measured;
  const line = (what: string, rounds: number[][]) => {
    const all = rounds.flat();
    const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => percentile(all, share).toFixed(1));
    return `  ${what}: ${all.length} heartbeats, p50 ${p50} ms, p99 ${p99} ms, at most ${longest} ms\n`;
  };
  return [
    `\nHeartbeats, of which ${reports + refused} became reports (${refused} refused), and ${bundles} bundles of 8 MiB\n`,
    line("without bundles", quiet),
    line("while two other machines answer bundles", others),
    line("of these two machines", asked),
  ].join("");
}

const row = (name: string, of: (found: Measured) => number[][]): Benchmark => ({
  ...budgetOf(name),
  details,
  measure: async (progress, minutes): Promise<Round[]> =>
    of(await measure(progress, minutes)).map((took) => ({ ours: percentile(took, 0.99) })),
});

export const questionBeats: readonly Benchmark[] = [
  row("question-beats-quiet", ({ quiet }) => quiet),
  row("question-beats-p99", ({ others }) => others),
  row("question-beats-asked", ({ asked }) => asked),
];
