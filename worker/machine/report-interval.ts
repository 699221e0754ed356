// Decides when a machine is to report next.
import { reportIntervalMs } from "../../shared/protocol/settings.ts";

type Timing = Parameters<typeof reportIntervalMs>[0];

/** Two to six per cent before the interval ends, because an object is evicted 10 s after its last request. */
export function nextReportInMs(timing: Timing, random: () => number): number {
  return nextBeatInMs(reportIntervalMs(timing), random);
}

/** The same for a heartbeat: the lease is renewed as often by either. */
export function nextBeatInMs(intervalMs: number, random: () => number): number {
  return Math.round(intervalMs * (0.94 + 0.04 * random()));
}

/** After a registration: spread over half an interval, for fleets that start together. */
export function firstReportInMs(timing: Timing, random: () => number): number {
  return Math.round(nextReportInMs(timing, random) * (0.4 + 0.6 * random()));
}
