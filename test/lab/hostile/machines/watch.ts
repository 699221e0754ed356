// Observes honest machines, workerd's memory and etcd while hostile machines act and an operator works.
import { setTimeout as wait } from "node:timers/promises";
import type { BenchWorker } from "../../bench/workerd.ts";
import type { Cluster } from "./cluster.ts";
import type { Findings } from "./findings.ts";
import { HONEST } from "./names.ts";
import { notReady } from "./neighbours.ts";
import type { Operator } from "./operator.ts";
import type { Attack } from "./start-hostile.ts";

export interface Watched {
  notReady: string[];
  residentBytes: number[];
  /** The bytes written to etcd at the end of the first minute, or of a shorter attack. */
  putAfterMinute: { bytes: number | null; atMs: number };
}

export interface Watching {
  cluster: Cluster;
  worker: BenchWorker;
  found: Findings;
  operating: Operator;
  /** The attack. The observation lasts until it has ended. */
  attack: Attack;
  /** The shortest duration of the observation, in milliseconds. */
  forMs: number;
  stop: AbortSignal;
  /** Called after each observation with the elapsed milliseconds. */
  looked: (ms: number) => void;
}

/** Milliseconds between two observations. A short run has LOOKS observations, which follow faster. */
const LOOK_EVERY_MS = 1000;
const LOOKS = 50;

/** Observes until the attack has ended. Throws if `stop` is aborted. */
export async function watch(watching: Watching): Promise<Watched> {
  const { cluster, worker, found, operating, attack, forMs, stop, looked } = watching;
  const startedMs = performance.now();
  const everyMs = Math.min(LOOK_EVERY_MS, forMs / LOOKS);
  const watched: Watched = {
    notReady: [],
    residentBytes: [],
    putAfterMinute: { bytes: await cluster.putBytes(), atMs: startedMs },
  };
  for (;;) {
    const nowMs = performance.now();
    if (attack.isOver()) return watched;
    if (watched.putAfterMinute.atMs < startedMs + 60_000)
      watched.putAfterMinute = { bytes: await cluster.putBytes(), atMs: nowMs };
    if (found.nodes.size > 0) await operating.act();
    watched.residentBytes.push(worker.residentBytes());
    watched.notReady.push(...(await notReady(cluster.admin, HONEST, Date.now())));
    looked(nowMs - startedMs);
    const next = wait(Math.max(0, nowMs + everyMs - performance.now()), undefined, { signal: stop });
    await Promise.race([next, attack.ended]);
  }
}
