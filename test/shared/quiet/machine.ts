// Makes a machine's data after a report, for the tests of quiet heartbeats. Contains no test.
import type { Facts } from "../../../shared/protocol/facts.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import type { Settings } from "../../../shared/protocol/settings.ts";
import { NOTHING_REMEMBERED } from "../../../shared/from-report/reported-status.ts";
import { parsedSettings } from "../../../shared/from-report/parsed-settings.ts";
import type { QuietBasis } from "../../../shared/quiet/quiet.ts";
import { NO_PRESSURE, synchronizeEviction } from "../../../shared/resources/eviction.ts";

export const GIB = 2 ** 30;

export const SETTINGS: Settings = {
  hostname: "edge-1",
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
  registerWithTaints: null,
  maxPods: 110,
};

export const MACHINE: NonNullable<Facts["machine"]> = {
  machineID: "m-1",
  systemUUID: "s-1",
  bootID: "b-1",
  cores: 4,
  memoryBytes: 8 * GIB,
  swapBytes: 0,
  hugePages: [],
};

export const CALM: Vitals = {
  signals: {
    "memory.available": [4 * GIB, 8 * GIB],
    "nodefs.available": [50 * GIB, 100 * GIB],
    "pid.available": [30_000, 32_768],
  },
};

export const basis = (more: Partial<QuietBasis> = {}): QuietBasis => ({
  vitals: CALM,
  facts: { settings: SETTINGS, machine: MACHINE },
  memory: NOTHING_REMEMBERED,
  clock: { isSkewed: false, skewMs: 0 },
  custom: [],
  ...more,
});

/**
 * Returns the least amount that meets no threshold of the signal. Tries amounts with the function that decides
 * about pressure.
 */
export function leastCalm(settings: Settings, signal: (typeof SIGNALS)[number], capacity: number): number {
  const { thresholds } = parsedSettings(settings);
  const isCalm = (available: number) =>
    synchronizeEviction(thresholds, { [signal]: [available, capacity] }, NO_PRESSURE, 0, 1) === NO_PRESSURE;
  if (isCalm(0)) return 0;
  let [met, unmet] = [0, Number.MAX_SAFE_INTEGER];
  if (!isCalm(unmet)) return Infinity;
  while (unmet - met > 1) {
    const middle = met + Math.floor((unmet - met) / 2);
    if (isCalm(middle)) unmet = middle;
    else met = middle;
  }
  return unmet;
}
