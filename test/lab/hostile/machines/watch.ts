// Looks at what can be seen while hostile machines act: honest machines, workerd's memory, etcd. Has the operator act
// meanwhile.
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
  /** What etcd had been given when the first minute was over, or the attack where it was shorter. */
  putAfterMinute: { bytes: number | null; atMs: number };
}

export interface Watching {
  cluster: Cluster;
  worker: BenchWorker;
  found: Findings;
  operating: Operator;
  /** It looks until this has ended. */
  attack: Attack;
  /** How long that takes at best. */
  forMs: number;
  stop: AbortSignal;
  /** After each look: so many milliseconds are over. */
  looked: (ms: number) => void;
}

/** Or more often, so that there are some looks in a short run. */
const LOOK_EVERY_MS = 1000;
const LOOKS = 50;

/** Throws where it is stopped. */
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
