// Limits how long a caller waits for a promise that may never settle.
import { after, type Timer } from "../clock.ts";

const NO_ANSWER = "no answer in time";

/**
 * Returns the result of `work`; after `leftMs` returns `late`, aborts `signal` and ignores the result of `work`.
 * `ofObject`: the timer of the calling object; undefined in the stateless Worker.
 */
export async function withDeadline<T>(
  leftMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: T,
  ofObject: Timer | undefined,
): Promise<T> {
  const abort = new AbortController();
  const over = Promise.withResolvers<T>();
  // AbortSignal.timeout cannot be cleared, and a running timer keeps the Durable Object awake.
  const stop = (ofObject ?? after)(leftMs, () => {
    over.resolve(late);
    abort.abort(new Error(NO_ANSWER));
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
  message: string | undefined,
  ofObject: Timer | undefined,
): Promise<T> {
  const done = async (signal: AbortSignal) => ({ value: await work(signal) });
  const outcome = await withDeadline<{ value: T } | null>(leftMs, done, null, ofObject);
  if (outcome === null) throw new Error(message ?? NO_ANSWER);
  return outcome.value;
}
