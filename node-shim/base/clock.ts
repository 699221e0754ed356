// Reads the clocks and starts the timers of the shim. No other module does, so that a test replaces time in one place.
import { uptime } from "node:os";

export interface Clock {
  /** Returns milliseconds since a fixed moment. Never goes back, and continues while the machine is suspended. */
  nowMs: () => number; // typically os.uptime
  /** Calls `callback` after `ms` in which the machine was not suspended. Returns a function that cancels the call. */
  timer: (ms: number, callback: () => void) => () => void;
}

interface TimerOptions {
  /** false if the process may end before the timer calls back. */
  ref?: boolean;
}

/** Returns milliseconds since 1970, by the machine's wall clock. */
export function wallMs(): number {
  return Date.now();
}

/** Returns the wall clock's time in RFC 3339. */
export function timestamp(): string {
  return new Date(wallMs()).toISOString();
}

/** Returns milliseconds since a fixed moment. Never goes back, and stops while the machine is suspended. */
export function monotonicMs(): number {
  return performance.now();
}

/** Calls `ring` once, after `ms`. Returns a function that cancels the call. */
export function after(ms: number, ring: () => void, { ref = true }: TimerOptions = {}): () => void {
  const timer = setTimeout(ring, ms);
  if (!ref) timer.unref();
  return () => clearTimeout(timer);
}

/** Calls `ring` every `ms`. Returns a function that cancels the calls. */
export function every(ms: number, ring: () => void): () => void {
  const timer = setInterval(ring, ms);
  return () => clearInterval(timer);
}

/** Calls `ring` in a later turn of the event loop. */
export function nextTurn(ring: () => void): void {
  setImmediate(ring);
}

/** Resolves after `ms`, or once `signal` is aborted. Never rejects. */
export function pause(
  ms: number,
  { signal, ...options }: TimerOptions & { signal?: AbortSignal } = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = after(ms, end, options);
    signal?.addEventListener("abort", end);
  });
}

/** Returns a signal that is aborted after `ms`. The timer does not keep the process alive. */
export function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  after(ms, () => controller.abort(new DOMException("The deadline passed", "TimeoutError")), { ref: false });
  return controller.signal;
}

/** The machine's clock. os.uptime is CLOCK_BOOTTIME on Linux, which continues during a suspend. */
export const systemClock: Clock = { nowMs: () => uptime() * 1000, timer: after };

/** Returns `wait` (ends after `ms` or with `stop`; only one may run at a time) and `wake`, which ends it early. */
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
