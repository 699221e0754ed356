// Starts an embedded apiserver with its controllers, whose clock the test moves. Contains no test.
import { embeddedServer, type TestServer } from "../test-server.ts";
import { startControllers } from "../../../../../infra/local/apiserver/controllers/start.ts";
import type { Every } from "../../../../../infra/local/apiserver/timer.ts";

export interface TestCluster {
  server: TestServer;
  /** Returns the time of the apiserver and its controllers, in milliseconds since 1970. */
  now: () => number;
  /** Lets `ms` pass, and runs the controllers. */
  pass: (ms: number) => Promise<void>;
  stop: () => Promise<void>;
}

/**
 * The periods of the controllers, also for a real kube-controller-manager, whose default periods would take
 * minutes.
 */
export const PERIODS = { monitorPeriodMs: 250, monitorGracePeriodMs: 4_000, startupGracePeriodMs: 5_000 };

/** Returns timers that run when the test moves the clock. */
function manualTimers(clock: { ms: number }) {
  const timers = new Set<{ periodMs: number; dueMs: number; run: () => void }>();
  const every: Every = (periodMs, run) => {
    const timer = { periodMs, dueMs: clock.ms + periodMs, run };
    timers.add(timer);
    return () => {
      timers.delete(timer);
    };
  };
  /** Runs the next timer if it is due by `untilMs`. Returns false if none is. */
  function runNext(untilMs: number): boolean {
    const [next] = [...timers].sort((left, right) => left.dueMs - right.dueMs);
    if (!next || next.dueMs > untilMs) return false;
    clock.ms = next.dueMs;
    next.dueMs += next.periodMs;
    next.run();
    return true;
  }
  return { every, runNext };
}

export async function embeddedCluster(): Promise<TestCluster> {
  const server = embeddedServer();
  const { clock, store, fetch, token } = server;
  const timers = manualTimers(clock);
  const failures: unknown[] = [];
  const controllers = startControllers(
    { store, fetch, token, rootCa: "an authority", now: () => new Date(clock.ms), every: timers.every },
    PERIODS,
    (error) => failures.push(error),
  );
  await controllers.idle();
  return {
    server,
    now: () => clock.ms,
    pass: async (ms) => {
      const untilMs = clock.ms + ms;
      await controllers.idle();
      while (timers.runNext(untilMs)) await controllers.idle();
      clock.ms = untilMs;
      if (failures.length > 0) throw failures[0];
    },
    stop: async () => {
      await controllers.stop();
      server.close();
    },
  };
}
