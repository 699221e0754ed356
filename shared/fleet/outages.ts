// Outages: machines of one network whose silence began within a minute of each other. Says who belongs together and what
// an outage was, once it is over. Stores nothing.
import { networkOf } from "./network.ts";
import type { MachineSummary } from "./summary.ts";

/** The first and the last silence of an outage began at most so far apart. */
export const OUTAGE_SPAN_MS = 60_000;

/** A silence alone is no outage. */
export const OUTAGE_MACHINES = 2;

/** What became of a machine that was silent, as it tells itself once it is back. */
export const OUTAGE_ENDS = [
  /** The same boot and the same process: it ran on. */
  "cut off",
  /** Another boot. */
  "down",
  /** The same boot, and another process of the shim. */
  "restarted",
  /** It has left, was forgotten or revoked: it will not be back. */
  "left",
  /** It is back, and did not say by which boot. */
  "unknown",
] as const;
export type OutageEnd = (typeof OUTAGE_ENDS)[number];

export interface Silence {
  /** Never "": nobody is grouped by an address that is not known. */
  network: string;
  /** When it began, however late that was noticed. */
  sinceMs: number;
}

/** null: the machine is not silent, or nobody knows where it is. */
export function silenceOf(summary: MachineSummary | null): Silence | null {
  if (summary?.state !== "silent") return null;
  const network = networkOf(summary.address);
  return network === "" ? null : { network, sinceMs: summary.silentSinceMs ?? summary.sinceMs };
}

/** How a silence ended. A machine that is silent anew was back in between, whether or not anybody was told. */
export function endOfSilence(before: MachineSummary, after: MachineSummary | null): OutageEnd {
  if (after === null || after.state === "revoked") return "left";
  if (before.boot === "" || after.boot === "") return "unknown";
  if (before.boot !== after.boot) return "down";
  return before.process === after.process ? "cut off" : "restarted";
}

export type OutageCounts = Partial<Record<OutageEnd, number>>;

/** `cut off`, or, where machines differ, `3 cut off, 1 down`. "": none has ended. */
export function whatOutageWas(counts: OutageCounts): string {
  const ends = OUTAGE_ENDS.filter((end) => counts[end]);
  return ends.length === 1 ? ends.join() : ends.map((end) => `${counts[end]} ${end}`).join(", ");
}
