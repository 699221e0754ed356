// Decides when a machine sends its next report or heartbeat.
import { reportIntervalMs } from "../../shared/protocol/settings.ts";

/** The least time until the next heartbeat, also after a slow PUT. */
export const LEAST_BEAT_MS = 1000;

type Timing = Parameters<typeof reportIntervalMs>[0];

/** Returns the time until the next report: 94 to 98 % of the interval, since objects are evicted after 10 s. */
export function nextReportInMs(timing: Timing, random: () => number): number {
  return nextBeatInMs(reportIntervalMs(timing), random);
}

/** Returns the time until the next heartbeat: 94 to 98 % of the interval, since it renews the lease like a report. */
export function nextBeatInMs(intervalMs: number, random: () => number): number {
  return Math.round(intervalMs * (0.94 + 0.04 * random()));
}

/** The share of the interval until the next heartbeat, if the PUT failed or the apiserver was not asked. */
const SOONER = { failed: 1 / 2, notAsked: 1 / 4 } as const;
export type Missed = keyof typeof SOONER;

/**
 * Returns the milliseconds until the next heartbeat after a heartbeat that renewed nothing. `sinceMs`: the time since
 * that heartbeat, which is subtracted; a negative time (the clock was put back) counts as 0.
 */
export function soonerBeatInMs(
  intervalMs: number,
  missed: Missed,
  sinceMs: number,
  random: () => number,
): number {
  return Math.max(LEAST_BEAT_MS, nextBeatInMs(intervalMs * SOONER[missed], random) - Math.max(0, sinceMs));
}

/** Returns the random time until the first report after a registration, which spreads machines that start together. */
export function firstReportInMs(timing: Timing, random: () => number): number {
  return Math.round(nextReportInMs(timing, random) * (0.4 + 0.6 * random()));
}
