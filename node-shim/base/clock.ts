// The clock by which waits are measured. It is not the wall clock, so that setting that does not change a wait.
import { uptime } from "node:os";

export interface Clock {
  /** Milliseconds since some moment. Never goes back, and continues while the machine is suspended. */
  nowMs: () => number; // typically os.uptime
  /** Calls back once, after this many milliseconds in which the machine ran. The result cancels it. */
  timer: (ms: number, callback: () => void) => () => void;
}

/** os.uptime is CLOCK_BOOTTIME on Linux, which shows after a suspend how much is left of a wait. */
export const systemClock: Clock = {
  nowMs: () => uptime() * 1000,
  timer: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** A wait ends early when `stop` is aborted or `wake` is called. One wait at a time. */
export function wakeableWait(
  clock: Clock,
  stop: AbortSignal,
): { wait: (ms: number) => Promise<void>; wake: () => void } {
  let wake = () => {};
  stop.addEventListener("abort", () => wake());
  return {
    wait: (ms) =>
      new Promise((resolve) => {
        if (stop.aborted) return resolve();
        const cancel = clock.timer(ms, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      }),
    wake: () => wake(),
  };
}
