// Groups machines of one network whose silences began within a minute into an outage, and decides how it ended.
import { isInMaintenance } from "../kubernetes/lifecycle-conditions.ts";
import { networkOf } from "./sort-keys.ts";
import type { MachineSummary } from "./summary.ts";

/** The longest time between the first and the last silence of an outage. */
export const OUTAGE_SPAN_MS = 60_000;

/** The least number of machines in an outage. */
export const OUTAGE_MACHINES = 2;

/** The ways in which a machine's silence can end, by the machine's first report after it. */
export const OUTAGE_ENDS = [
  /** The boot and the process of the shim are unchanged, so the machine kept running. */
  "cut off",
  /** The machine booted again. */
  "down",
  /** The boot is unchanged, but the shim is another process. */
  "restarted",
  /** The machine was forgotten, revoked, or has left. */
  "left",
  /** The machine reports again, but its boot is not known. */
  "unknown",
] as const;
export type OutageEnd = (typeof OUTAGE_ENDS)[number];

export interface Silence {
  /** The machine's network. Never "": a machine with an unknown address belongs to no outage. */
  network: string;
  /** The start of the silence, in milliseconds since 1970. The Worker notices the silence later. */
  sinceMs: number;
}

/** Returns the machine's silence; null if the machine is not silent, is in maintenance, or has no known address. */
export function silenceOf(summary: MachineSummary | null): Silence | null {
  if (summary?.state !== "silent" || isInMaintenance(summary.conditions)) return null;
  const network = networkOf(summary.address);
  return network === "" ? null : { network, sinceMs: summary.silentSinceMs ?? summary.sinceMs };
}

/** Returns how a silence ended. A machine that is silent again has reported in between, even if no update shows it. */
export function endOfSilence(before: MachineSummary, after: MachineSummary | null): OutageEnd {
  if (after === null || after.state === "revoked") return "left";
  if (before.boot === "" || after.boot === "") return "unknown";
  if (before.boot !== after.boot) return "down";
  return before.process === after.process ? "cut off" : "restarted";
}

export type OutageCounts = Partial<Record<OutageEnd, number>>;

/** Returns `cut off` if all silences ended in one way, else `3 cut off, 1 down`; "" if no silence has ended. */
export function whatOutageWas(counts: OutageCounts): string {
  const ends = OUTAGE_ENDS.filter((end) => counts[end]);
  return ends.length === 1 ? ends.join() : ends.map((end) => `${counts[end]} ${end}`).join(", ");
}
