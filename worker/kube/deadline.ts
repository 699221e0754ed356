// Ends what is waited for in time, also where it does not end by itself.
import { after, type Timer } from "../clock.ts";

/** What `work` comes to, or `late` after `leftMs`: then `signal` is aborted, and what comes of the work is ignored. */
export async function withDeadline<T>(
  leftMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: T,
  timer: Timer = after,
): Promise<T> {
  const abort = new AbortController();
  // Not AbortSignal.timeout: a timer that is left behind keeps the object awake.
  let stop: (() => void) | undefined;
  const over = new Promise<T>((resolve) => {
    stop = timer(leftMs, () => {
      resolve(late);
      abort.abort(new Error("no answer in time"));
    });
  });
  try {
    return await Promise.race([work(abort.signal), over]);
  } finally {
    stop?.();
  }
}
/** What `work` comes to; rejects with this message after `leftMs`, and then ignores what comes of it. */
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
