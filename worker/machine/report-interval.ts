// Decides when a machine sends its next report or heartbeat.
import { reportIntervalMs } from "../../shared/protocol/settings.ts";

/** The least time until the next heartbeat, also after a slow PUT. */
const LEAST_BEAT_MS = 1000;

type Timing = Parameters<typeof reportIntervalMs>[0];

/**
 * Returns the milliseconds until the next report: 94 to 98 % of the interval, because an object is evicted 10 s
 * after its last request.
 */
export function nextReportInMs(timing: Timing, random: () => number): number {
  return nextBeatInMs(reportIntervalMs(timing), random);
}

/**
 * Returns the milliseconds until the next heartbeat: 94 to 98 % of the interval, because a heartbeat renews the
 * lease as often as a report.
 */
export function nextBeatInMs(intervalMs: number, random: () => number): number {
  return Math.round(intervalMs * (0.94 + 0.04 * random()));
}

/** The share of the interval until the next heartbeat, if the PUT failed or the apiserver was not asked. */
const SOONER = { failed: 1 / 2, notAsked: 1 / 4 } as const;
export type Missed = keyof typeof SOONER;

/**
 * Returns the milliseconds until the next heartbeat after one that renewed nothing. `sinceMs`: the time since that
 * heartbeat, which is subtracted; a negative time (the clock was put back) counts as 0.
 */
export function soonerBeatInMs(
  intervalMs: number,
  missed: Missed,
  sinceMs: number,
  random: () => number,
): number {
  return Math.max(LEAST_BEAT_MS, nextBeatInMs(intervalMs * SOONER[missed], random) - Math.max(0, sinceMs));
}

/**
 * Returns the milliseconds until the first report after a registration. The time is random, so that the reports of
 * machines that started together spread.
 */
export function firstReportInMs(timing: Timing, random: () => number): number {
  return Math.round(nextReportInMs(timing, random) * (0.4 + 0.6 * random()));
}
