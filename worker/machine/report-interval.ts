// When a machine is to report next.
import { reportIntervalMs, type Settings } from "../../shared/protocol/settings.ts";

/** Until the first facts say otherwise: the kubelet's nodeStatusUpdateFrequency. */
const DEFAULT_INTERVAL_MS = 10_000;

/** Two to six per cent before the interval: the object is dropped 10 s after its last request. */
export function nextReportInMs(settings: Settings | undefined, random: () => number): number {
  const intervalMs = settings ? reportIntervalMs(settings) : DEFAULT_INTERVAL_MS;
  return Math.round(intervalMs * (0.94 + 0.04 * random()));
}

/** After a registration, whose events wait: at any time in more than half an interval, for a fleet that began together. */
export function firstReportInMs(settings: Settings | undefined, random: () => number): number {
  return Math.round(nextReportInMs(settings, random) * (0.4 + 0.6 * random()));
}
