// What a heartbeat carries of the vitals: only what differs from those of the last accepted report. The shim shortens, the
// gateway expands.
import type { HeartbeatFrame } from "../protocol/frames.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";

export type HeartbeatVitals = Pick<HeartbeatFrame, "available" | "remainingSeconds">;

/** `base`: of the last accepted report. null: something else differs than amounts, so that a full report is needed. */
export function shortened(vitals: Vitals, base: Vitals): HeartbeatVitals | null {
  if (vitals.setupError !== undefined || base.setupError !== undefined) return null;
  if (!isSameStanding(vitals, base)) return null;
  const isSameSignal = (name: (typeof SIGNALS)[number]) =>
    vitals.signals[name]?.[1] === base.signals[name]?.[1];
  if (!SIGNALS.every(isSameSignal)) return null;
  const { signals, remainingSeconds } = vitals;
  return {
    available: SIGNALS.map((name) => signals[name]?.[0] ?? null),
    ...(remainingSeconds && { remainingSeconds }),
  };
}

/** A signal that `base` lacks gets a capacity of 0, so that it is not quiet: a full report has to say more. */
export function expanded({ available, remainingSeconds }: HeartbeatVitals, base: Vitals): Vitals {
  const signals: Vitals["signals"] = {};
  SIGNALS.forEach((name, at) => {
    const amount = available[at] ?? null;
    if (amount !== null) signals[name] = [amount, base.signals[name]?.[1] ?? 0];
  });
  const { remainingSeconds: _left, ...others } = base;
  return { ...others, signals, ...(remainingSeconds && { remainingSeconds }) };
}

// The vitals beside amounts: what a heartbeat does not carry, since it rarely changes. Compares, and decides nothing.

export type StandingVitals = Pick<Vitals, "errors" | "shuttingDown" | "oomKills">;

/** Said in the same way: what is absent in one must be absent in the other. Allocates nothing. */
export function isSameStanding(a: StandingVitals, b: StandingVitals): boolean {
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
