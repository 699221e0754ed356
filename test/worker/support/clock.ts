// Replaces worker/clock.ts by a virtual clock in the tests of workerd. Time stands still and timers wait until a
// test lets time pass.
import { vi } from "vitest";
import type { Timer } from "../../../worker/clock.ts";

interface Waiting {
  atMs: number;
  isPause: boolean;
  isDue: boolean;
  hasRung: boolean;
}

let waiting = new Set<Waiting>();

export const currentMs = (): number => Date.now();

/** The real milliseconds between two checks of whether a timer is due. No test's result depends on this time. */
const LOOK_MS = 1;

/**
 * Starts a timer in the calling object. The timer itself checks whether a test has made it due. A test cannot
 * resolve an object's promise: workerd would run the object's code as the test's, without access to the object's
 * own I/O.
 */
function begin(ms: number, isPause: boolean, ring: () => void): () => void {
  const timer = { atMs: currentMs() + ms, isPause, isDue: false, hasRung: false };
  const mine = waiting;
  mine.add(timer);
  const look = () => {
    if (timer.isDue) {
      timer.hasRung = true;
      ring();
    } else if (mine === waiting) looking = setTimeout(look, LOOK_MS);
  };
  let looking = setTimeout(look, 0);
  return () => {
    mine.delete(timer);
    if (!timer.hasRung) clearTimeout(looking);
  };
}

export const after: Timer = (ms, ring) => begin(ms, false, ring);

/** Returns a Timer that starts a new timer for each call. A timer that ticks on would keep its object in memory. */
export const oneTimer = (_tickMs: number): Timer => after;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void begin(ms, true, resolve));

/** Stops the clock at this time; by default at the present time. Timers of earlier tests never ring. */
export function stopClock(atMs = Date.now()): void {
  waiting = new Set();
  vi.useFakeTimers({ toFake: ["Date"], now: atMs });
}

/** Moves the clock by `ms` milliseconds. Timers that are due by then ring when a test lets time pass. */
export const shift = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

/** Sets the clock to this time, in milliseconds since 1970. */
export const setClock = (atMs: number): void => void vi.setSystemTime(atMs);

/** Returns the number of timers that wait. */
export const timers = (): number => waiting.size;

/** Lets objects and the apiserver run for a moment. */
const turn = () => new Promise<void>((resolve) => void setTimeout(resolve, 0));

const first = (all: Iterable<Waiting>) =>
  [...all].reduce<Waiting | undefined>((a, b) => (a && a.atMs <= b.atMs ? a : b), undefined);

/**
 * The number of checks after which a timer counts as lost with its object. Test and object share a thread, so that
 * load delays both equally.
 */
const MOST_LOOKS = 20;

async function ring(timer: Waiting): Promise<void> {
  vi.setSystemTime(Math.max(currentMs(), timer.atMs));
  timer.isDue = true;
  waiting.delete(timer);
  for (let looks = 0; looks < MOST_LOOKS && !timer.hasRung; looks++)
    await new Promise((resolve) => void setTimeout(resolve, LOOK_MS));
  await turn();
}

/**
 * Lets `ms` milliseconds pass. Timers ring in order, each at its time. Their effects may still be in progress
 * afterwards.
 */
export async function pass(ms: number): Promise<void> {
  const untilMs = currentMs() + ms;
  await turn();
  for (let next = first(waiting); next && next.atMs <= untilMs; next = first(waiting)) await ring(next);
  vi.setSystemTime(untilMs);
}

/** Lets `ms` milliseconds pass, then returns the result of work in progress. */
export async function during<T>(ms: number, work: Promise<T>): Promise<T> {
  const settled = Promise.allSettled([work]);
  await pass(ms);
  await settled;
  return work;
}

/**
 * Returns the result of work in progress. Time passes while the work pauses, but deadlines of requests do not ring.
 */
export async function passing<T>(work: Promise<T>): Promise<T> {
  const state = stateOf(work);
  while (!state.isOver) await passPause();
  return work;
}

/** Returns an object whose `isOver` shows at any time whether the work has ended. */
export function stateOf(work: Promise<unknown>): { isOver: boolean } {
  const state = { isOver: false };
  const over = () => void (state.isOver = true);
  work.then(over, over);
  return state;
}

/** The largest number of promises that may follow from one timer. */
const PROMISES = 200;

/** Returns the result of work that waits only for promises and timers. Every timer may ring. */
export async function outlasting<T>(work: Promise<T>): Promise<T> {
  const state = stateOf(work);
  for (;;) {
    for (let each = 0; each < PROMISES && !state.isOver; each++) await Promise.resolve();
    if (state.isOver) return work;
    await turn();
    const next = state.isOver ? undefined : first(waiting);
    if (next) await ring(next);
  }
}

/** Lets time pass until the next timer rings. */
export async function passTimer(): Promise<void> {
  const next = first(waiting);
  await (next ? ring(next) : turn());
}

/** Lets time pass until the next pause ends. */
export async function passPause(): Promise<void> {
  const next = first([...waiting].filter(({ isPause }) => isPause));
  await (next ? ring(next) : turn());
}

/**
 * Repeats `look` until it throws nothing. The clock stands still, so that the effect must follow without a timer.
 */
export async function eventually<T>(look: () => T | Promise<T>, meanwhile = turn): Promise<T> {
  const own = waiting;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      // The test that called `eventually` has timed out. It must not move the next test's clock.
      if (own !== waiting) throw error;
      await meanwhile();
    }
  }
}
