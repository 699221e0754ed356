// Reduces a heartbeat's vitals to the difference from the last accepted report (shim), and restores them (gateway).
import type { HeartbeatFrame } from "../protocol/frames.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";

export type HeartbeatVitals = Pick<HeartbeatFrame, "available" | "remainingSeconds">;

/** Returns the heartbeat's vitals; null if more than amounts differs from `base`, the last accepted report's. */
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

/** Returns a heartbeat's full vitals. A signal that `base` lacks gets the capacity 0, which is never quiet. */
export function expanded({ available, remainingSeconds }: HeartbeatVitals, base: Vitals): Vitals {
  const signals: Vitals["signals"] = {};
  SIGNALS.forEach((name, at) => {
    const amount = available[at] ?? null;
    if (amount !== null) signals[name] = [amount, base.signals[name]?.[1] ?? 0];
  });
  const { remainingSeconds: _left, ...others } = base;
  return { ...others, signals, ...(remainingSeconds && { remainingSeconds }) };
}

/** The vitals that a heartbeat omits, because they rarely change. */
export type LastingVitals = Pick<Vitals, "errors" | "shuttingDown" | "oomKills">;

/** Returns true if all vitals are equal, or absent in both. The function allocates nothing. */
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
