// The Worker's variables that are whole numbers, and what each may be.
import { BULK_LIMITS, DEPLOYMENT_LIMITS, GATEWAY_LIMITS } from "../protocol/limits.ts";

/** From, to. */
export const NUMBER_RANGES = {
  MIN_REPORT_INTERVAL_SECONDS: DEPLOYMENT_LIMITS.minReportIntervalSeconds,
  MIN_STATUS_PERIOD_SECONDS: DEPLOYMENT_LIMITS.minStatusPeriodSeconds,
  MIN_LEASE_SECONDS: DEPLOYMENT_LIMITS.minLeaseSeconds,
  MAX_IMAGES: DEPLOYMENT_LIMITS.maxImages,
  /** Fewer would not carry a registration and its events. */
  MACHINE_REQUESTS: [20, 1e9],
  REMOVE_SILENT_NODES_DAYS: [1, BULK_LIMITS.silentDays],
  GATEWAY_SIZE: GATEWAY_LIMITS.size,
} as const satisfies Record<string, readonly [least: number, most: number]>;
export type NumberVariable = keyof typeof NUMBER_RANGES;

/** null: it is as it should be; an empty one has its default. Else what it has to be. */
export function numberCure(name: NumberVariable, text: string): string | null {
  if (text === "") return null;
  const [least, most] = NUMBER_RANGES[name];
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? null : `set it to a whole number from ${least} to ${most}`;
}
