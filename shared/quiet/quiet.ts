// Which vitals are quiet: the machine's object need not see them, since its Node and all that it stores stay the same
// without them. Pure; the gateway asks for each heartbeat. A stand-in: it knows no basis to decide by.
import { SIGNALS, type Vitals } from "../protocol/report.ts";

type SignalName = (typeof SIGNALS)[number];

/** What is quiet, as the machine's object has decided it after a report. Plain JSON. */
export interface Quiet {
  /** Of each signal that was observed: its capacity, and between which amounts no decision changes, both included. */
  signals: { readonly [Name in SignalName]?: { capacity: number; from: number; to: number } };
  /** As they were: errors, shutdown, OOM kills. */
  same: Pick<Vitals, "errors" | "shuttingDown" | "oomKills">;
  /** The drop-ins' conditions that have not expired, and must not; null: no drop-in has run. */
  remaining: readonly string[] | null;
  /** Those that have expired, and must stay so. */
  expired: readonly string[];
  /** How far the machine's clock may be off, in milliseconds, both included. */
  skewMs: readonly [from: number, to: number];
}

/** null: each heartbeat may change something. */
export function quietOf(_basis: object): Quiet | null {
  return null;
}

/** For how long heartbeats may be quiet. */
export function quietForMs(..._of: readonly object[]): number {
  return 0;
}

/** `skewMs`: how far the machine's clock is ahead. */
export function isQuiet(quiet: Quiet, { signals }: Vitals, skewMs: number): boolean {
  const [from, to] = quiet.skewMs;
  return (
    skewMs >= from &&
    skewMs <= to &&
    SIGNALS.every((name) => {
      const [within, observed] = [quiet.signals[name], signals[name]];
      if (!within || !observed) return !within && !observed;
      return observed[1] === within.capacity && observed[0] >= within.from && observed[0] <= within.to;
    })
  );
}
