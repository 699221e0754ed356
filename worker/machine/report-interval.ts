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

/** Parts of the interval until the next heartbeat, after one whose PUT has failed, and after one for which none was made. */
const SOONER = { failed: 1 / 2, notAsked: 1 / 4 } as const;
export type Missed = keyof typeof SOONER;

/**
 * After a heartbeat that renewed nothing, within the same two to six per cent. `sinceMs`: from that heartbeat until now, of
 * which the wait is shorter; less than 0 where the clock was put back, and taken for 0.
 */
export function soonerBeatInMs(
  intervalMs: number,
  missed: Missed,
  sinceMs: number,
  random: () => number,
): number {
  return Math.max(LEAST_BEAT_MS, nextBeatInMs(intervalMs * SOONER[missed], random) - Math.max(0, sinceMs));
}

/** After a registration: spread over half an interval, for fleets that start together. */
export function firstReportInMs(timing: Timing, random: () => number): number {
  return Math.round(nextReportInMs(timing, random) * (0.4 + 0.6 * random()));
}
