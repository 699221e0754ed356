// Outages: machines of one network whose silence began within a minute of each other. Decides which machines belong to one
// outage, and what the outage was.
import { networkOf } from "./sort-keys.ts";
import type { MachineSummary } from "./summary.ts";

/** Longest time between the first and the last silence of an outage. */
export const OUTAGE_SPAN_MS = 60_000;

/** Least machines in an outage. */
export const OUTAGE_MACHINES = 2;

/** How a machine's silence ended, by its report once it is back. */
export const OUTAGE_ENDS = [
  /** The boot and the process of the shim are the same: the machine kept running. */
  "cut off",
  /** The machine booted again. */
  "down",
  /** The boot is the same, and the shim is another process. */
  "restarted",
  /** The machine has left, or was forgotten or revoked. */
  "left",
  /** The machine is back, and its boot is not known. */
  "unknown",
] as const;
export type OutageEnd = (typeof OUTAGE_ENDS)[number];

export interface Silence {
  /** Never "": machines with an unknown address are not grouped. */
  network: string;
  /** When the silence began. It is noticed later. */
  sinceMs: number;
}

/** Returns null if the machine is not silent, or its address is not known. */
export function silenceOf(summary: MachineSummary | null): Silence | null {
  if (summary?.state !== "silent") return null;
  const network = networkOf(summary.address);
  return network === "" ? null : { network, sinceMs: summary.silentSinceMs ?? summary.sinceMs };
}

/** Returns how a silence ended. A machine with a new silence was back in between, even if no update reported it. */
export function endOfSilence(before: MachineSummary, after: MachineSummary | null): OutageEnd {
  if (after === null || after.state === "revoked") return "left";
  if (before.boot === "" || after.boot === "") return "unknown";
  if (before.boot !== after.boot) return "down";
  return before.process === after.process ? "cut off" : "restarted";
}

export type OutageCounts = Partial<Record<OutageEnd, number>>;

/** Returns `cut off`, or `3 cut off, 1 down` if machines differ; "" if no silence has ended. */
export function whatOutageWas(counts: OutageCounts): string {
  const ends = OUTAGE_ENDS.filter((end) => counts[end]);
  return ends.length === 1 ? ends.join() : ends.map((end) => `${counts[end]} ${end}`).join(", ");
}
