// Ends what is waited for in time, also where it does not end by itself.

/** What `work` comes to, or `late` after `leftMs`: then `signal` is aborted, and what comes of the work is ignored. */
export async function withDeadline<T>(
  leftMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: T,
): Promise<T> {
  const abort = new AbortController();
  // Not AbortSignal.timeout: a timer that is left behind keeps the object awake.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<T>((resolve) => {
    timer = setTimeout(() => {
      resolve(late);
      abort.abort(new Error("no answer in time"));
    }, leftMs);
  });
  try {
    return await Promise.race([work(abort.signal), over]);
  } finally {
    clearTimeout(timer);
  }
}

/** What `work` comes to; rejects with this message after `leftMs`, and then ignores what comes of it. */
export async function inTime<T>(
  leftMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  message = "no answer in time",
): Promise<T> {
  const done = async (signal: AbortSignal) => ({ value: await work(signal) });
  const outcome = await withDeadline<{ value: T } | null>(leftMs, done, null);
  if (outcome === null) throw new Error(message);
  return outcome.value;
}
