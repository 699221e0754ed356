// Shortens the vitals of a heartbeat to what differs from the last accepted report, and expands them again. The shim
// shortens, the gateway expands.
import type { HeartbeatFrame } from "../protocol/frames.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";

export type HeartbeatVitals = Pick<HeartbeatFrame, "available" | "remainingSeconds">;

/** Returns null if more than amounts differ, so that a full report is needed. `base`: of the last accepted report. */
export function shortened(vitals: Vitals, base: Vitals): HeartbeatVitals | null {
  if (vitals.setupError !== undefined || base.setupError !== undefined) return null;
  if (!isSameLasting(vitals, base)) return null;
  const isSameSignal = (name: (typeof SIGNALS)[number]) =>
    vitals.signals[name]?.[1] === base.signals[name]?.[1];
  if (!SIGNALS.every(isSameSignal)) return null;
  const { signals, remainingSeconds } = vitals;
  return {
    available: SIGNALS.map((name) => signals[name]?.[0] ?? null),
    ...(remainingSeconds && { remainingSeconds }),
  };
}

/** A signal that `base` lacks gets a capacity of 0, which is never quiet: it needs a full report. */
export function expanded({ available, remainingSeconds }: HeartbeatVitals, base: Vitals): Vitals {
  const signals: Vitals["signals"] = {};
  SIGNALS.forEach((name, at) => {
    const amount = available[at] ?? null;
    if (amount !== null) signals[name] = [amount, base.signals[name]?.[1] ?? 0];
  });
  const { remainingSeconds: _left, ...others } = base;
  return { ...others, signals, ...(remainingSeconds && { remainingSeconds }) };
}

/** The vitals that a heartbeat does not carry, since they rarely change. */
export type LastingVitals = Pick<Vitals, "errors" | "shuttingDown" | "oomKills">;

/** A value that is absent in one must be absent in the other. Allocates nothing. */
export function isSameLasting(a: LastingVitals, b: LastingVitals): boolean {
  return a.shuttingDown === b.shuttingDown && a.oomKills === b.oomKills && areSameErrors(a.errors, b.errors);
}

function areSameErrors(a: Vitals["errors"], b: Vitals["errors"]): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return (
    areSameTexts(a.runtime, b.runtime) &&
    areSameTexts(a.network, b.network) &&
    areSameTexts(a.storage, b.storage)
  );
}

function areSameTexts(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b?.length !== a.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
