// The time that waits are measured in. Not the wall clock: nobody's setting of it makes a wait longer or shorter.
import { uptime } from "node:os";

export interface Clock {
  /** Milliseconds since some moment. Never goes back, and goes on while the machine is suspended. */
  nowMs: () => number; // typically os.uptime
  /** Calls back once, after so many milliseconds in which the machine ran. The answer cancels it. */
  timer: (ms: number, callback: () => void) => () => void;
}

/** os.uptime is CLOCK_BOOTTIME on Linux: after a suspend it tells how much is really left of a wait. */
export const systemClock: Clock = {
  nowMs: () => uptime() * 1000,
  timer: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits, unless `stop` comes first or the answer's `wake` is called. One wait at a time. */
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
