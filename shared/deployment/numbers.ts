// The Worker's variables that are whole numbers, and how one is read.
import { DEPLOYMENT_LIMITS } from "../protocol/limits.ts";
import { failure, type Result, success } from "../result.ts";

/** From, to. */
export const NUMBER_RANGES = {
  MIN_REPORT_INTERVAL_SECONDS: DEPLOYMENT_LIMITS.minReportIntervalSeconds,
  MIN_STATUS_PERIOD_SECONDS: DEPLOYMENT_LIMITS.minStatusPeriodSeconds,
  MIN_LEASE_SECONDS: DEPLOYMENT_LIMITS.minLeaseSeconds,
  MAX_IMAGES: DEPLOYMENT_LIMITS.maxImages,
  /** Fewer would not carry a registration and its events. */
  MACHINE_REQUESTS: [20, 1e9],
} as const satisfies Record<string, readonly [least: number, most: number]>;
export type NumberVariable = keyof typeof NUMBER_RANGES;

/** undefined: it is empty, and has its default. The error: what it has to be. */
export function readNumber(name: NumberVariable, text: string): Result<number | undefined> {
  if (text === "") return success(undefined);
  const [least, most] = NUMBER_RANGES[name];
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most
    ? success(number)
    : failure(`set it to a whole number from ${least} to ${most}`);
}
