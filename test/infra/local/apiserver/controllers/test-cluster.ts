// An apiserver with its controllers for tests: the embedded one, whose clock the test moves, and the real pair. No test
// of its own.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControllerManager } from "../controller-manager.ts";
import { createHttpsClient } from "../../../../../infra/local/https-fetch.ts";
import { startRealApiserver } from "../../../../../infra/local/real-apiserver.ts";
import { embeddedServer, type TestServer } from "../test-server.ts";
import { startControllers } from "../../../../../infra/local/apiserver/controllers/start.ts";
import type { Every } from "../../../../../infra/local/apiserver/timer.ts";

export interface TestCluster {
  server: TestServer;
  /** The servers' time, in ms. */
  now: () => number;
  /** Lets this much time pass, and the controllers do what there is to do. */
  pass: (ms: number) => Promise<void>;
  stop: () => Promise<void>;
}

/** The same figures for both; kube-controller-manager's own would take minutes. */
const seconds = { monitorPeriod: 0.25, monitorGrace: 4, startupGrace: 5 };

/** Timers that run when the clock is moved. */
function manualTimers(clock: { ms: number }) {
  const timers = new Set<{ periodMs: number; dueMs: number; run: () => void }>();
  const every: Every = (periodMs, run) => {
    const timer = { periodMs, dueMs: clock.ms + periodMs, run };
    timers.add(timer);
    return () => {
      timers.delete(timer);
    };
  };
  /** Runs the next timer that is due by then; false when there is none. */
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

async function startEmbedded(): Promise<TestCluster> {
  const server = embeddedServer();
  const { clock, store, fetch, token } = server;
  const timers = manualTimers(clock);
  const failures: unknown[] = [];
  const controllers = startControllers(
    { store, fetch, token, rootCa: "an authority", now: () => new Date(clock.ms), every: timers.every },
    {
      monitorPeriodMs: seconds.monitorPeriod * 1_000,
      monitorGracePeriodMs: seconds.monitorGrace * 1_000,
      startupGracePeriodMs: seconds.startupGrace * 1_000,
    },
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

async function startReal(assets: string): Promise<TestCluster> {
  const dir = mkdtempSync(join(tmpdir(), "controllers-"));
  const running = await startRealApiserver({ dir, assets });
  const client = createHttpsClient(running.caFile);
  const manager = startControllerManager(running, {
    dir,
    assets,
    controllers: [
      "node-lifecycle-controller",
      "taint-eviction-controller",
      "garbage-collector-controller",
      "namespace-controller",
      "clusterrole-aggregation-controller",
      "serviceaccount-controller",
      "root-ca-certificate-publisher-controller",
    ],
    flags: [
      `--root-ca-file=${running.caFile}`,
      `--node-monitor-period=${seconds.monitorPeriod}s`,
      `--node-monitor-grace-period=${seconds.monitorGrace}s`,
      `--node-startup-grace-period=${seconds.startupGrace}s`,
    ],
  });
  return {
    server: { url: running.url, token: running.adminToken, fetch: client.fetch },
    now: () => Date.now(),
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    stop: async () => {
      await manager.stop();
      client.close();
      await running.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
const hasManager = existsSync(join(assets, "kube-controller-manager")) && assets !== "";

export const clusters: { title: string; start: () => Promise<TestCluster> }[] = [
  { title: "embedded controllers", start: startEmbedded },
  ...(hasManager ? [{ title: "kube-controller-manager", start: () => startReal(assets) }] : []),
];
