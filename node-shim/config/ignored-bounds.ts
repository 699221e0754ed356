// Checks the bounds and choices of single fields that have no effect on this machine (ValidateKubeletConfiguration,
// and the kubelet's checks at its start). ignored-rules.ts has the rules between fields.
import { parseDuration } from "../../shared/go/duration.ts";
import { valueOr } from "../../shared/result.ts";
import type { IgnoredField, IgnoredValues } from "./ignored-fields.ts";

export interface IgnoredFault {
  field: IgnoredField;
  message: string;
}

type FieldsOf<Value> = {
  [Field in IgnoredField]: IgnoredValues[Field] extends Value | undefined ? Field : never;
}[IgnoredField];

const PORT = [0, 65_535] as const;
const NOT_NEGATIVE = [0, Infinity] as const;

/** The least and greatest number that each field may have. Port 0 means the default port, or no port. */
const NUMBERS: { readonly [Field in FieldsOf<number>]?: readonly [least: number, most: number] } = {
  imageGCHighThresholdPercent: [0, 100],
  imageGCLowThresholdPercent: [0, 100],
  port: PORT,
  healthzPort: PORT,
  readOnlyPort: PORT,
  iptablesDropBit: [0, 31],
  iptablesMasqueradeBit: [0, 31],
  oomScoreAdj: [-1000, 1000],
  eventBurst: NOT_NEGATIVE,
  eventRecordQPS: NOT_NEGATIVE,
  kubeAPIBurst: NOT_NEGATIVE,
  kubeAPIQPS: NOT_NEGATIVE,
  maxOpenFiles: NOT_NEGATIVE,
  registryBurst: NOT_NEGATIVE,
  registryPullQPS: NOT_NEGATIVE,
  maxParallelImagePulls: [1, Infinity],
  containerLogMaxWorkers: [1, Infinity],
  containerLogMaxFiles: [2, Infinity],
  memoryThrottlingFactor: [Number.MIN_VALUE, 1],
};

/** The least and greatest duration that each field may have, in milliseconds. */
const DURATIONS: { readonly [Field in FieldsOf<string>]?: readonly [leastMs: number, mostMs: number] } = {
  imageMinimumGCAge: NOT_NEGATIVE,
  imageMaximumGCAge: NOT_NEGATIVE,
  syncFrequency: NOT_NEGATIVE,
  containerLogMonitorInterval: [3000, Infinity],
};

/** The texts that each field may have. An empty text is also allowed and means the default. */
const CHOICES: { readonly [Field in FieldsOf<string>]?: readonly string[] } = {
  topologyManagerPolicy: ["none", "best-effort", "restricted", "single-numa-node"],
  topologyManagerScope: ["container", "pod"],
  hairpinMode: ["promiscuous-bridge", "hairpin-veth", "none"],
  cpuManagerPolicy: ["none", "static"],
  memoryManagerPolicy: ["None", "Static"],
  memoryReservationPolicy: ["None", "TieredReservation"],
  tlsMinVersion: ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"],
  // The releases before v1.36 and v1.37, whose rules this file has.
  showHiddenMetricsForVersion: ["1.35", "1.36"],
};

/** Returns the first field that is outside its bounds, and the fault; null if there is none. */
export function boundsFault(values: IgnoredValues): IgnoredFault | null {
  for (const field of Object.keys(values) as IgnoredField[]) {
    const message = outside(field, values[field]);
    if (message !== null) return { field, message };
  }
  return null;
}

function outside(field: IgnoredField, value: IgnoredValues[IgnoredField]): string | null {
  if (field in NUMBERS) {
    const [least, most] = NUMBERS[field as keyof typeof NUMBERS] ?? NOT_NEGATIVE;
    return isWithin(value as number, least, most)
      ? null
      : `must be ${range(least, most)}, not ${JSON.stringify(value)}`;
  }
  if (field in DURATIONS) {
    const [leastMs, mostMs] = DURATIONS[field as keyof typeof DURATIONS] ?? NOT_NEGATIVE;
    return isWithin(durationMs(value as string), leastMs, mostMs)
      ? null
      : `must be at least ${leastMs / 1000}s, not ${JSON.stringify(value)}`;
  }
  const choices = CHOICES[field as keyof typeof CHOICES];
  if (!choices || value === "" || choices.includes(value as string)) return null;
  return `must be one of ${choices.join(", ")}, not ${JSON.stringify(value)}`;
}

function isWithin(number: number, least: number, most: number): boolean {
  return number >= least && number <= most;
}

function range(least: number, most: number): string {
  if (least === Number.MIN_VALUE) return `greater than 0 and at most ${most}`;
  return most === Infinity ? `at least ${least}` : `between ${least} and ${most}`;
}

/** Returns the milliseconds of a duration that the field's type has accepted. */
export function durationMs(text: string): number {
  return valueOr(parseDuration(text), 0);
}
