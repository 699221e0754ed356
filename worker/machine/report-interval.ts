// Decides when a machine is to report next.
import { reportIntervalMs } from "../../shared/protocol/settings.ts";

/** Even after a PUT that took longer than the time until the next. */
const LEAST_BEAT_MS = 1000;

type Timing = Parameters<typeof reportIntervalMs>[0];

/** Two to six per cent before the interval ends, because an object is evicted 10 s after its last request. */
export function nextReportInMs(timing: Timing, random: () => number): number {
  return nextBeatInMs(reportIntervalMs(timing), random);
}

/** The same for a heartbeat: the lease is renewed as often by either. */
export function nextBeatInMs(intervalMs: number, random: () => number): number {
  return Math.round(intervalMs * (0.94 + 0.04 * random()));
}

/** Parts of the interval, counted from a heartbeat that renewed nothing: three such in a row are no longer than two others. */
export const SOONER = { failed: 1 / 2, notAsked: 1 / 4 } as const;

/** Within the same two to six per cent. `sinceMs`: from the heartbeat until now; below 0, a clock was put back, it counts as 0. */
export function soonerBeatInMs(
  intervalMs: number,
  { missed, sinceMs }: { missed: keyof typeof SOONER; sinceMs: number },
  random: () => number,
): number {
  return Math.max(LEAST_BEAT_MS, nextBeatInMs(intervalMs * SOONER[missed], random) - Math.max(0, sinceMs));
}

/** After a registration: spread over half an interval, for fleets that start together. */
export function firstReportInMs(timing: Timing, random: () => number): number {
  return Math.round(nextReportInMs(timing, random) * (0.4 + 0.6 * random()));
}
