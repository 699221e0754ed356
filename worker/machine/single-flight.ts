// Runs work one at a time: a call during a run joins the next run, which sees everything that was set before the call.

/** A function that runs `work`; at most one run is in progress and at most one waits for it. */
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
    // Between a run and the next one `running` is undefined, and this call must not start before the next one.
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
