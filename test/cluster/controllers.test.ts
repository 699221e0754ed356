// Runs the tests of the embedded apiserver's controllers with a real kube-controller-manager and in real time.
import { setTimeout as wait } from "node:timers/promises";
import { describe } from "vitest";
import { describeControllers } from "../infra/local/apiserver/controllers/describe-controllers.ts";
import { PERIODS, type TestCluster } from "../infra/local/apiserver/controllers/test-cluster.ts";
import { breakableServer, hasControllerManager, testServer, TURN_MS } from "./servers.ts";

async function realCluster(): Promise<TestCluster> {
  const breakable = await breakableServer();
  await breakable.startControllers({
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
      `--root-ca-file=${breakable.caFile}`,
      `--node-monitor-period=${PERIODS.monitorPeriodMs}ms`,
      `--node-monitor-grace-period=${PERIODS.monitorGracePeriodMs}ms`,
      `--node-startup-grace-period=${PERIODS.startupGracePeriodMs}ms`,
    ],
  });
  return { ...testServer(breakable), now: Date.now, pass: (ms) => wait(ms) };
}

describe.skipIf(!hasControllerManager)("kube-controller-manager", () =>
  describeControllers(realCluster, TURN_MS),
);
