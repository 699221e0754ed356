// Limits how long a caller waits for a promise that may never settle.
import { after, type Timer } from "../clock.ts";

/** Returns the result of `work`; after `leftMs` returns `late`, aborts `signal` and ignores the result of `work`. */
export async function withDeadline<T>(
  leftMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: T,
  timer: Timer = after,
): Promise<T> {
  const abort = new AbortController();
  const over = Promise.withResolvers<T>();
  // AbortSignal.timeout cannot be cleared, and a running timer keeps the Durable Object awake.
  const stop = timer(leftMs, () => {
    over.resolve(late);
    abort.abort(new Error("no answer in time"));
  });
  try {
    return await Promise.race([work(abort.signal), over.promise]);
  } finally {
    stop();
  }
}

/** Returns the result of `work`. Rejects with this message after `leftMs`, and then ignores the result. */
export async function inTime<T>(
  leftMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  message = "no answer in time",
  timer: Timer = after,
): Promise<T> {
  const done = async (signal: AbortSignal) => ({ value: await work(signal) });
  const outcome = await withDeadline<{ value: T } | null>(leftMs, done, null, timer);
  if (outcome === null) throw new Error(message);
  return outcome.value;
}
