// Runs work at a limited pace, or one run at a time.

export interface Pace {
  /** The number of requests that begin in a second. */
  aSecond: number;
  /** The number of requests that run at the same time. */
  atOnce: number;
}

/** Runs `works` at this pace, and resolves once all have ended. Taking a promise from the iterable starts its work. */
export async function paced(
  works: Iterable<Promise<unknown>>,
  { aSecond, atOnce }: Pace,
  pause: (ms: number) => Promise<void>, // typically `pause` of clock.ts
): Promise<void> {
  const underWay = new Set<Promise<unknown>>();
  for (const work of works) {
    const done = work.finally(() => underWay.delete(done));
    underWay.add(done);
    await pause(1000 / aSecond);
    if (underWay.size >= atOnce) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

/** Returns a function that runs `work` one at a time. Calls during a run share one next run, after their changes. */
export function singleFlight<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;

  function start(): Promise<Result> {
    const run = work().finally(() => {
      if (running === run) running = undefined;
    });
    running = run;
    return run;
  }

  return () => {
    // Between two runs `running` is undefined. A call at that moment must join the next run instead of starting a run.
    if (next) return next;
    if (!running) return start();
    next = running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
