// Which vitals are quiet: the machine's object need not see them, since its Node and all that it stores stay the same
// without them. Pure; the gateway asks for each heartbeat.
import type { SIGNALS, Vitals } from "../protocol/report.ts";

type SignalName = (typeof SIGNALS)[number];

/** What is quiet, as the machine's object has decided it after a report. Plain JSON. */
export interface Quiet {
  /** Of each signal that was observed: its capacity, and between which amounts no decision changes, both included. */
  signals: { readonly [Name in SignalName]?: { capacity: number; from: number; to: number } };
  /** As they were: errors, shutdown, OOM kills. */
  same: Pick<Vitals, "errors" | "shuttingDown" | "oomKills">;
  /** The drop-ins' conditions that have not expired, and must not. */
  remaining: readonly string[];
  /** How far the machine's clock may be off, in milliseconds, both included. */
  skewMs: readonly [from: number, to: number];
}
