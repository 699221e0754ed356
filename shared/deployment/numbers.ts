// Lists the Worker's variables that are whole numbers, with the bounds of each.
import { BULK_LIMITS, DEPLOYMENT_LIMITS, GATEWAY_LIMITS } from "../protocol/limits.ts";

/** The least and the greatest allowed value of each variable. */
export const NUMBER_RANGES = {
  MIN_REPORT_INTERVAL_SECONDS: DEPLOYMENT_LIMITS.minReportIntervalSeconds,
  MIN_STATUS_PERIOD_SECONDS: DEPLOYMENT_LIMITS.minStatusPeriodSeconds,
  MIN_LEASE_SECONDS: DEPLOYMENT_LIMITS.minLeaseSeconds,
  MAX_IMAGES: DEPLOYMENT_LIMITS.maxImages,
  /** Requests to the apiserver for one machine in a minute. The least is enough for a registration and its events. */
  MACHINE_REQUESTS: [20, 1e9],
  REMOVE_SILENT_NODES_DAYS: [1, BULK_LIMITS.silentDays],
  GATEWAY_SIZE: GATEWAY_LIMITS.size,
  SHARED_LIMITS_FACTOR: DEPLOYMENT_LIMITS.sharedLimitsFactor,
} as const satisfies Record<string, readonly [least: number, most: number]>;
export type NumberVariable = keyof typeof NUMBER_RANGES;

/** Returns the form that the variable needs; null if `text` is valid. An empty text is valid and means the default. */
export function numberCure(name: NumberVariable, text: string): string | null {
  if (text === "") return null;
  const [least, most] = NUMBER_RANGES[name];
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? null : `set it to a whole number from ${least} to ${most}`;
}
