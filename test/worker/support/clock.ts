// The virtual clock that stands in the place of worker/clock.ts in the tests of workerd: time stands still, and timers wait,
// until a test lets time pass.
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

/** Between two looks of a timer at whether it is due, in real milliseconds. Nothing depends on it. */
const LOOK_MS = 1;

/**
 * workerd runs what follows a promise in the object that resolves it, and that may not be the one that waits. So each timer
 * looks by itself, where it was started, whether a test has let its time come.
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

/** Each call has a timer of its own here: what ticks on would keep an object from being evicted. */
export const oneTimer = (_tickMs: number): Timer => after;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void begin(ms, true, resolve));

/** Stops the clock at this time, or where it is. Timers of earlier tests never ring. */
export function stopClock(atMs = Date.now()): void {
  waiting = new Set();
  vi.useFakeTimers({ toFake: ["Date"], now: atMs });
}

/** Moves the clock by `ms` milliseconds. Timers that are due by then ring when a test lets time pass. */
export const shift = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

/** Puts the clock at this time, in milliseconds since 1970. */
export const setClock = (atMs: number): void => void vi.setSystemTime(atMs);

/** Number of timers that wait. */
export const timers = (): number => waiting.size;

/** Gives way to what goes on elsewhere: in objects, at the apiserver. */
const turn = () => new Promise<void>((resolve) => void setTimeout(resolve, 0));

const first = (all: Iterable<Waiting>) =>
  [...all].reduce<Waiting | undefined>((a, b) => (a && a.atMs <= b.atMs ? a : b), undefined);

/** Of a timer that has not rung by then, the object is gone. Both are timers of one thread: the later one rings later. */
const MOST_LOOKS = 20;

async function ring(timer: Waiting): Promise<void> {
  vi.setSystemTime(Math.max(currentMs(), timer.atMs));
  timer.isDue = true;
  waiting.delete(timer);
  for (let looks = 0; looks < MOST_LOOKS && !timer.hasRung; looks++)
    await new Promise((resolve) => void setTimeout(resolve, LOOK_MS));
  await turn();
}

/** Lets `ms` milliseconds pass; timers ring in their order, each at its time. What they cause may go on after that. */
export async function pass(ms: number): Promise<void> {
  const untilMs = currentMs() + ms;
  await turn();
  for (let next = first(waiting); next && next.atMs <= untilMs; next = first(waiting)) await ring(next);
  vi.setSystemTime(untilMs);
}

/** Lets `ms` milliseconds pass, and returns the result of work that was begun. */
export async function during<T>(ms: number, work: Promise<T>): Promise<T> {
  const settled = Promise.allSettled([work]);
  await pass(ms);
  await settled;
  return work;
}

/** Lets time pass while the work pauses. Deadlines of requests that are under way do not ring. */
export async function passing<T>(work: Promise<T>): Promise<T> {
  const state = stateOf(work);
  while (!state.isOver) await passPause();
  return work;
}

/** Whether work is over, at any time. */
export function stateOf(work: Promise<unknown>): { isOver: boolean } {
  const state = { isOver: false };
  const over = () => void (state.isOver = true);
  work.then(over, over);
  return state;
}

/** Enough for all that follows from one timer where nothing but promises is waited for. */
const PROMISES = 200;

/** Lets time pass until work is done that waits for nothing but promises and timers. */
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

export async function passPause(): Promise<void> {
  const next = first([...waiting].filter(({ isPause }) => isPause));
  await (next ? ring(next) : turn());
}

/** Looks until `look` throws nothing. The clock stands still meanwhile: what happens must follow without a timer. */
export async function eventually<T>(look: () => T | Promise<T>, meanwhile = turn): Promise<T> {
  const own = waiting;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      // The test that looked has timed out: it must not move the clock of the next one.
      if (own !== waiting) throw error;
      await meanwhile();
    }
  }
}

/** Looks until `look` throws nothing. Time passes while objects pause. */
export const inTime = <T>(look: () => T | Promise<T>): Promise<T> => eventually(look, passPause);
