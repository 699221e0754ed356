// Configures vitest for mutants: short time limits, and one worker for all mutants of a process. The start of a worker
// takes longer than the tests of most mutants.
import type { PoolWorker, PoolRunnerInitializer, WorkerRequest, WorkerResponse } from "vitest/node";

/** The time limits of tests. With many mutants a test waits for an event that never comes. */
export const WAITING = { testTimeout: 60_000, hookTimeout: 60_000 };

/** Wraps a pool, so that a worker that has ended its run also takes the next one. */
export function keeping({ name, createPoolWorker }: PoolRunnerInitializer): PoolRunnerInitializer {
  let kept: PoolWorker | null = null;
  return {
    name,
    createPoolWorker(options) {
      const isStarted = kept !== null;
      const worker = (kept ??= createPoolWorker(options));
      return workerOfRun(worker, isStarted, async () => {
        kept = null;
        await worker.stop();
      });
    },
  };
}

/** Returns the worker of one run. Calls `discard` if the run has not ended. */
function workerOfRun(worker: PoolWorker, isStarted: boolean, discard: () => Promise<void>): PoolWorker {
  /** true also after a run that has failed outside of its tests: such a worker is not used again. */
  let isRunning = false;
  let deliver: (message: unknown) => void = () => undefined;
  return {
    name: worker.name,
    start: () => (isStarted ? Promise.resolve() : worker.start()),
    async stop() {
      worker.off("message", deliver);
      if (isRunning) await discard();
    },
    on(event, callback) {
      if (event !== "message") return worker.on(event, callback);
      deliver = (message) => {
        const answer = worker.deserialize(message) as Partial<WorkerResponse>;
        if (answer.__vitest_worker_response__ && answer.type === "testfileFinished")
          isRunning = answer.error !== undefined;
        callback(message);
      };
      worker.on("message", deliver);
    },
    off: (event, callback) => worker.off(event, event === "message" ? deliver : callback),
    send(request: WorkerRequest) {
      if (request.type === "run") isRunning = true;
      // The worker stays: the pool gets the answer of a worker that has stopped.
      if (request.type === "stop")
        return queueMicrotask(() => deliver({ type: "stopped", __vitest_worker_response__: true }));
      worker.send(request);
    },
    deserialize: (data) => worker.deserialize(data),
  };
}
