// Decides when a machine is to report next.
import { reportIntervalMs, type Settings } from "../../shared/protocol/settings.ts";

/** The kubelet's nodeStatusUpdateFrequency, until there are facts. */
const DEFAULT_INTERVAL_MS = 10_000;

/** Two to six per cent before the interval ends, because an object is evicted 10 s after its last request. */
export function nextReportInMs(settings: Settings | undefined, random: () => number): number {
  const intervalMs = settings ? reportIntervalMs(settings) : DEFAULT_INTERVAL_MS;
  return Math.round(intervalMs * (0.94 + 0.04 * random()));
}

/**
 * After a registration, whose events wait for this report: spread over half an interval, for fleets that start
 * together.
 */
export function firstReportInMs(settings: Settings | undefined, random: () => number): number {
  return Math.round(nextReportInMs(settings, random) * (0.4 + 0.6 * random()));
}
