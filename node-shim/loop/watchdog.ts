// Detects a report loop that hangs: a step of the loop that does not end in time.
import type { Clock } from "../base/clock.ts";

/** The longest time of a step beyond its expected time: longer than all attempts of one report with their deadlines. */
export const HANG_MS = 120_000;

export type Step = "gathering" | "sending" | "waiting";

export interface Watchdog {
  /** Must be called when a step begins. `expectedMs` is the step's expected time. */
  begin: (step: Step, expectedMs?: number) => void;
  /** Must be called when the loop ends. */
  end: () => void;
  /** Rejects if a step hangs after `hangs` was called. Else never settles. */
  hung: Promise<never>;
}

/** The error of a shim whose loop hangs. A hung thread may keep Node.js from ending. */
export class LoopHang extends Error {}

/**
 * Returns a watchdog. Calls `hangs` if a step lasts HANG_MS longer than expected, and rejects `hung` after another
 * HANG_MS, so that the service manager starts the shim again. Timers stop during a suspend, which is no hang.
 */
export function loopWatchdog(clock: Clock, hangs: (step: Step, seconds: number) => void): Watchdog {
  let reject: (error: LoopHang) => void = () => undefined;
  const hung = new Promise<never>((_, rejects) => {
    reject = rejects;
  });
  let cancel = () => {};
  const begin = (step: Step, expectedMs = 0) => {
    cancel();
    cancel = clock.timer(expectedMs + HANG_MS, () => {
      const seconds = Math.round((expectedMs + HANG_MS) / 1000);
      cancel = clock.timer(HANG_MS, () =>
        reject(new LoopHang(`no report for ${seconds + HANG_MS / 1000} s: ${step} does not end`)),
      );
      hangs(step, seconds);
    });
  };
  return { begin, end: () => cancel(), hung };
}
