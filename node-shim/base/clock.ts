// Reads the clocks and starts the timers of the shim. No other module does, so that a test replaces time in one place.
import { uptime } from "node:os";
import { servedPaths } from "./served-paths.ts";

export interface Clock {
  /** Returns milliseconds since a fixed moment. Never goes back, and continues while the machine is suspended. */
  nowMs: () => number; // typically systemClock.nowMs
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

/** Returns the milliseconds for which this process has used a CPU, also in the kernel. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The longest wait of one timer of Node.js, which calls back at once after a longer wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Calls `ring` once, after `ms`. Returns a function that cancels the call. */
export function after(ms: number, ring: () => void, options: TimerOptions = {}): () => void {
  const isLong = ms > LONGEST_TIMER_MS;
  let cancelRest = () => {};
  const timer = setTimeout(
    () => {
      if (isLong) cancelRest = after(ms - LONGEST_TIMER_MS, ring, options);
      else ring();
    },
    isLong ? LONGEST_TIMER_MS : Math.max(0, ms),
  );
  if (options.ref === false) timer.unref();
  return () => {
    clearTimeout(timer);
    cancelRest();
  };
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

/** The least difference of two clocks that counts as a suspend. /proc/uptime has steps of 10 ms. */
const LEAST_SUSPEND_MS = 1000;

interface ClockSources {
  /** Stops during a suspend. */
  monotonicMs: () => number;
  /** Continues during a suspend, but may jump: in a container, a program can replace /proc/uptime. */
  uptimeMs: () => number;
  /** Continues during a suspend, but jumps when an operator sets the clock. */
  wallMs: () => number;
}

/**
 * Returns a clock that never goes back: the process's monotonic clock, plus the suspends. Counts a difference as a
 * suspend only if both the uptime and the wall clock have it.
 */
export function suspendAwareNow({ monotonicMs, uptimeMs, wallMs }: ClockSources): () => number {
  const read = () => ({ monotonic: monotonicMs(), uptime: uptimeMs(), wall: wallMs() });
  let suspendedMs = 0;
  let last = read();
  return () => {
    const now = read();
    const uptimePassedMs = now.uptime - last.uptime;
    const missedMs = Math.min(uptimePassedMs, now.wall - last.wall) - (now.monotonic - last.monotonic);
    if (missedMs >= LEAST_SUSPEND_MS) suspendedMs += missedMs;
    last = now;
    return now.monotonic + suspendedMs;
  };
}

/**
 * Returns the uptime, which Node.js reads from /proc/uptime. If a program serves this file, it could block the process:
 * the clock then counts no suspend.
 */
function uptimeMs(): number {
  return isUptimeServed ? monotonicMs() : uptime() * 1000;
}
const isUptimeServed = servedPaths("/", ["/proc/uptime"]).length > 0;

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: suspendAwareNow({ monotonicMs, uptimeMs, wallMs }),
  timer: after,
};

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
