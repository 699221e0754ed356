// The vitals beside amounts: what a heartbeat does not carry, since it rarely changes. Compares, and decides nothing.
import type { Vitals } from "../protocol/report.ts";

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
