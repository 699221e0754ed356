// Defines the amounts of a usage frame, which a machine sends once a minute, and what operators see of them. Pure.
import * as z from "zod/mini";
import type { MachineUsage } from "./fleet-answers.ts";
import { USAGE_LIMITS } from "./limits.ts";

/** The amounts, in the order of the frame. Totals count since the machine's boot. */
export const USAGE = [
  "uptimeSeconds",
  /** The CPU time of all CPUs together. */
  "cpuSecondsTotal",
  "cpus",
  "load1",
  "load5",
  "load15",
  "memoryWorkingSetBytes",
  "memoryCapacityBytes",
  "diskReadBytesTotal",
  "diskWrittenBytesTotal",
  "networkReceivedBytesTotal",
  "networkSentBytesTotal",
  /** The time in which at least one task waited for the CPU, from the kernel's pressure stall information. */
  "cpuWaitingSecondsTotal",
  "memoryWaitingSecondsTotal",
  /** The time in which all tasks waited at once. */
  "memoryStalledSecondsTotal",
  "ioWaitingSecondsTotal",
  "ioStalledSecondsTotal",
  /** The temperature of the hottest sensor. */
  "temperatureCelsius",
] as const;
type UsageName = (typeof USAGE)[number];

/** The amounts of one machine. null: the machine has no such value. */
export type Usage = Readonly<Record<UsageName, number | null>>;

/** The most that a counter of the kernel has, with 64 bits. A network of 100 Gbit/s exceeds 2^53 bytes in nine days. */
const MOST = 2 ** 64;
const amount = z.number().check(z.minimum(-MOST), z.maximum(MOST));

const n = z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER));
const amounts = z.array(z.nullable(amount)).check(z.length(USAGE.length));

/** The first line of a usage frame. The second line is its MAC, as in a heartbeat. */
export const usageFrameSchema = z.strictObject({
  type: z.literal("usage"),
  /** The number of the frame in its session. It rises, so that no frame counts twice. */
  n,
  amounts,
  /** The number of earlier samples that the machine has kept for this gateway; absent for none. */
  missing: z.optional(z.int().check(z.minimum(1), z.maximum(USAGE_LIMITS.kept))),
});
export type UsageFrame = z.infer<typeof usageFrameSchema>;

/** The type of the frame with kept samples, and of the gateway's frame that asks for it. */
export const MISSING_USAGE = "missing-usage";

/** The first line of a machine's answer to MISSING_USAGE. The second line is its MAC, as in a usage frame. */
export const missingUsageSchema = z.strictObject({
  type: z.literal(MISSING_USAGE),
  /** The number of the frame among the usage frames of its session. */
  n,
  /** The number of samples that the machine had no room for. */
  lost: z.int().check(z.minimum(0), z.maximum(USAGE_LIMITS.lost)),
  /** The amounts of each sample, the oldest first. */
  samples: z.array(amounts).check(z.maxLength(USAGE_LIMITS.kept)),
});
export type MissingUsageFrame = z.infer<typeof missingUsageSchema>;
export type MissingUsage = Pick<MissingUsageFrame, "lost" | "samples">;

/** Returns the text that the MAC protects. `payload`: the first line. The number in the payload rises. */
export function usageText(payload: string): string {
  return `rollcall-usage\n${payload}`;
}

/** Returns the amounts of a frame; null for an impossible amount, since a frame with it would close the socket. */
export function amountsOf(usage: Usage): UsageFrame["amounts"] {
  return USAGE.map((name) => (Math.abs(usage[name] ?? Infinity) <= MOST ? usage[name] : null));
}

export function usageOf(amounts: UsageFrame["amounts"]): Usage {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema requires an amount for each name
  return Object.fromEntries(USAGE.map((name, index) => [name, amounts[index] ?? null])) as Usage;
}

/** Returns a machine's usage. `before`: the frame before the last one, from which rates follow; null if there is none. */
export function shownUsage(last: Usage, before: Usage | null): Omit<MachineUsage, "name" | "at"> {
  const rate = (name: UsageName) => ratePerSecond(name, last, before);
  const { cpus, load1, load5, load15, memoryWorkingSetBytes, memoryCapacityBytes, temperatureCelsius } = last;
  return {
    windowSeconds: windowOf(last, before),
    cpuUsed: rate("cpuSecondsTotal"),
    cpus,
    load1,
    load5,
    load15,
    memoryWorkingSetBytes,
    memoryCapacityBytes,
    diskReadBytesPerSecond: rate("diskReadBytesTotal"),
    diskWrittenBytesPerSecond: rate("diskWrittenBytesTotal"),
    networkReceivedBytesPerSecond: rate("networkReceivedBytesTotal"),
    networkSentBytesPerSecond: rate("networkSentBytesTotal"),
    cpuPressure: rate("cpuWaitingSecondsTotal"),
    memoryPressure: rate("memoryWaitingSecondsTotal"),
    ioPressure: rate("ioWaitingSecondsTotal"),
    temperatureCelsius,
  };
}

/** Returns a total's increase for each second; null if the total is unknown, or began again, as after a boot. */
function ratePerSecond(name: UsageName, last: Usage, before: Usage | null): number | null {
  const seconds = windowOf(last, before);
  const increase = differenceOf(name, last, before);
  if (seconds === null || increase === null || increase < 0) return null;
  return toThousandths(increase / seconds);
}

/** Returns the time between two frames; null without a frame before, or if the machine's time began again. */
function windowOf(last: Usage, before: Usage | null): number | null {
  const seconds = differenceOf("uptimeSeconds", last, before);
  return seconds === null || seconds <= 0 ? null : toThousandths(seconds);
}

const toThousandths = (value: number) => Math.round(1000 * value) / 1000;

function differenceOf(name: UsageName, last: Usage, before: Usage | null): number | null {
  const [later, earlier] = [last[name], before?.[name] ?? null];
  return later === null || earlier === null ? null : later - earlier;
}
