// What a heartbeat carries of the vitals: only what differs from those of the last accepted report. A stand-in.
import type { Heartbeat } from "../protocol/frames.ts";
import { SIGNALS, type Vitals } from "../protocol/report.ts";

/** A signal that `base` lacks gets a capacity of 0, so that it is not quiet. */
export function expanded(
  { available, remainingSeconds }: Pick<Heartbeat, "available" | "remainingSeconds">,
  base: Vitals,
): Vitals {
  const signals: Vitals["signals"] = {};
  for (const [at, name] of SIGNALS.entries()) {
    const amount = available[at] ?? null;
    if (amount !== null) signals[name] = [amount, base.signals[name]?.[1] ?? 0];
  }
  const { remainingSeconds: _, ...others } = base;
  return { ...others, signals, ...(remainingSeconds && { remainingSeconds }) };
}
