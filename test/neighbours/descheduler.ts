// Measures the descheduler: which pods LowNodeUtilization evicts to fill Nodes that have room.
import { readFileSync, writeFileSync } from "node:fs";
import { join as joinPath } from "node:path";
import type { Experiment, Outcome } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { forAll, PODS, until } from "./kube.ts";
import type { Lab } from "./lab.ts";
import { missingProgram, programOf } from "./programs.ts";
import { startWorkers, workersIn } from "./workers.ts";

/** The number of pods of 400 millicores on each worker of 4 cores: 90 %, 90 % and 10 % of the allocatable CPU. */
const PODS_OF_WORKER = [9, 9, 1];
const ENDED_WITHIN_MS = 60_000;

/** The thresholds of each policy: percent of the allocatable resources, or percent above and below the average. */
const POLICIES = {
  "low-utilization": { thresholds: { cpu: 20 }, targetThresholds: { cpu: 50 } },
  "low-utilization-deviation": {
    useDeviationThresholds: true,
    thresholds: { cpu: 10 },
    targetThresholds: { cpu: 10 },
  },
};

export const deschedulerExperiment: Experiment = {
  rows: ["low-utilization", "low-utilization-deviation"],
  missing: () => missingProgram("descheduler"),
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  await startWorkers(lab, workersIn(["zone-a", "zone-b", "zone-c"], PODS_OF_WORKER.length));
  await join(lab, fleet);
  const pods = PODS_OF_WORKER.flatMap((count, worker) =>
    Array.from({ length: count }, (_, index) => evictablePod(`pod-${worker}-${index}`, `worker-${worker}`)),
  );
  const outcomes: Partial<Record<keyof typeof POLICIES, Outcome>> = {};
  for (const [row, args] of Object.entries(POLICIES)) {
    await forAll(pods, (pod) => lab.kube.create(PODS, pod));
    outcomes[row as keyof typeof POLICIES] = { verdict: `${await evictions(lab, row, args)} evicted` };
    await lab.kube.remove(PODS);
  }
  return outcomes;
}

function evictablePod(name: string, nodeName: string) {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "set", uid: "set", controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ownerReferences: [owner] },
    spec: {
      nodeName,
      containers: [{ name: "main", image: "example.com/none", resources: { requests: { cpu: "400m" } } }],
    },
  };
}

/** Runs the descheduler once. Returns the number of pods that it has evicted. */
async function evictions(lab: Lab, row: string, args: object): Promise<number> {
  const policy = joinPath(lab.folder, `${row}.json`);
  const plugin = "LowNodeUtilization";
  writeFileSync(
    policy,
    JSON.stringify({
      apiVersion: "descheduler/v1alpha2",
      kind: "DeschedulerPolicy",
      profiles: [
        {
          name: "default",
          pluginConfig: [{ name: plugin, args }, { name: "DefaultEvictor" }],
          plugins: { balance: { enabled: [plugin] } },
        },
      ],
    }),
  );
  const log = lab.run(row, programOf("descheduler"), [
    `--kubeconfig=${lab.kubeconfig}`,
    `--policy-config-file=${policy}`,
    "--secure-port=0",
    "--v=1",
  ]);
  const text = await until(ENDED_WITHIN_MS, "the descheduler has ended its round", async () => {
    const text = readFileSync(log, "utf8");
    return text.includes("Number of evictions/requests") ? text : undefined;
  });
  return Number(/"Number of evictions\/requests" totalEvicted=(\d+)/.exec(text)?.[1]);
}
