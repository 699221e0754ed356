// Converts what the setters remember between SQLite and the tick, so that a lasting pressure changes no row with every
// report. Decides nothing.
import { NOTHING_REMEMBERED, type ReportedMemory } from "../../shared/from-report/reported-status.ts";

/** Stands in SQLite for the time of the last report. */
const MET_AT_LAST_REPORT = Number.MAX_SAFE_INTEGER;

/** For SQLite. `nowMs` is when the setters ran: a threshold that was met then is stored without its time. */
export function storedMemory(memory: ReportedMemory, nowMs: number): ReportedMemory {
  return withMetTimes(memory, (at) => (at === nowMs ? MET_AT_LAST_REPORT : at));
}

/** From SQLite; setters may change the result. `lastContactMs` is the time of the last report. */
export function recalledMemory(stored: ReportedMemory | undefined, lastContactMs: number): ReportedMemory {
  return withMetTimes(structuredClone({ ...NOTHING_REMEMBERED, ...stored }), (at) =>
    Math.min(at, lastContactMs),
  );
}

function withMetTimes(memory: ReportedMemory, change: (atMs: number) => number): ReportedMemory {
  const times = Object.entries(memory.eviction.lastMetAt).map(([condition, at]) => [condition, change(at)]);
  return { ...memory, eviction: { ...memory.eviction, lastMetAt: Object.fromEntries(times) } };
}
