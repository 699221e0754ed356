// Measures Karpenter: how many pods its provisioner places if Karpenter's state of the cluster contains our Nodes.
import { spawnSync } from "node:child_process";
import type { Experiment } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { NODES } from "./kube.ts";
import type { Lab } from "./lab.ts";
import { missingProgram, programOf } from "./programs.ts";

export const karpenterExperiment: Experiment = {
  rows: ["karpenter-zone"],
  missing: () => missingProgram("karpenter"),
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  await join(lab, fleet);
  const items = await lab.kube.list(NODES);
  const { stdout, stderr, status } = spawnSync(programOf("karpenter"), {
    input: JSON.stringify({ apiVersion: "v1", kind: "NodeList", items }),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`karpenter: ${stderr}`.slice(0, 2_000));
  const { placed, replicas, onOurs } = JSON.parse(stdout) as Record<"placed" | "replicas" | "onOurs", number>;
  return {
    "karpenter-zone": {
      verdict: `${placed} of ${replicas}`,
      detail: `${placed} of ${replicas}, ${onOurs} on ours`,
    },
  };
}
