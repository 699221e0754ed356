// What a heartbeat carries of a machine's vitals: the amounts that change all the time. Pure.
import type { Heartbeat } from "../protocol/frames.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";

/** null: something else than amounts differs from the last report, so that a full one is needed. */
export function shortened(
  vitals: Vitals,
  base: Vitals,
): Pick<Heartbeat, "available" | "remainingSeconds"> | null {
  const { signals, remainingSeconds, ...same } = vitals;
  const { signals: baseSignals, remainingSeconds: baseRemaining, ...baseSame } = base;
  if (JSON.stringify(same) !== JSON.stringify(baseSame)) return null;
  if (keysOf(remainingSeconds) !== keysOf(baseRemaining)) return null;
  if (SIGNALS.some((name) => signals[name]?.[1] !== baseSignals[name]?.[1])) return null;
  return {
    available: SIGNALS.map((name) => signals[name]?.[0] ?? null),
    ...(remainingSeconds && { remainingSeconds }),
  };
}

const keysOf = (remaining: Vitals["remainingSeconds"]) =>
  Object.keys(remaining ?? {})
    .toSorted()
    .join();
