// Replaces worker/clock.ts in the benchmark of costs. Time stands still and timers wait until the benchmark moves the
// clock. This file has no test of its own.
import type { Timer } from "../../../worker/clock.ts";
import { sharedTimer } from "../../../worker/kube/shared-timer.ts";

/** How a timer is used: `pauses` while its caller waits for it, `timers` while its caller also does other work. */
export type TimerUse = "pauses" | "timers";

interface VirtualTime<Owner> {
  /** Milliseconds since 1970. undefined before the benchmark has set the clock: the computer's clock is used. */
  nowMs: number | undefined;
  /** Notes that the calling object starts a timer. Returns the object, and a function that notes the timer's end. */
  started: (use: TimerUse) => { owner?: Owner; ended: () => void };
}

interface VirtualTimer {
  /** Milliseconds since 1970. */
  atMs: number;
  owner: unknown;
  /** Rings if the timer is due. Only the owner may call it: workerd lets no object run another object's code. */
  look: () => void;
}

export const time: VirtualTime<object> = { nowMs: undefined, started: () => ({ ended: () => undefined }) };

/** The timers that have not rung. */
const waiting = new Set<VirtualTimer>();

/**
 * The real milliseconds between two checks of a timer whether it is due. The benchmark rings an object's timers itself.
 * The stateless Worker has no object that the benchmark could call. No count depends on these times.
 */
const LOOK_MS = { ofObject: 1000, ofWorker: 1 };

export const currentMs = (): number => time.nowMs ?? Date.now();

/** Returns the time of the first timer, in milliseconds since 1970; Infinity if there is none. */
export function firstTimerMs(): number {
  let firstMs = Infinity;
  for (const { atMs } of waiting) firstMs = Math.min(firstMs, atMs);
  return firstMs;
}

/** Returns the objects with due timers. */
export const withDueTimers = (): ReadonlySet<unknown> =>
  new Set([...waiting].filter(({ atMs }) => atMs <= currentMs()).map(({ owner }) => owner));

/** Rings the due timers of the calling object. */
export function ringTimers(owner: object): void {
  for (const timer of waiting) if (timer.owner === owner) timer.look();
}

function begin(ms: number, use: TimerUse, ring: () => void): () => void {
  const { owner, ended } = time.started(use);
  // The clock jumps when the benchmark sets it for the first time, so that an earlier timer uses real time.
  const isReal = time.nowMs === undefined;
  const lookMs = isReal ? ms : owner ? LOOK_MS.ofObject : LOOK_MS.ofWorker;
  const look = () => {
    clearTimeout(looking);
    if (!isReal && currentMs() < timer.atMs) looking = setTimeout(look, lookMs);
    else {
      end();
      ring();
    }
  };
  const timer = { atMs: isReal ? Infinity : Math.ceil(currentMs() + ms), owner, look };
  let looking = setTimeout(look, lookMs);
  waiting.add(timer);
  const end = () => {
    clearTimeout(looking);
    if (waiting.delete(timer)) ended();
  };
  return end;
}

export const after: Timer = (ms, ring) => begin(ms, "timers", ring);

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void begin(ms, "pauses", resolve));

export const oneTimer = (longestMs: number): Timer =>
  sharedTimer(longestMs, currentMs, (tick, ms) => void begin(ms, "timers", tick));
