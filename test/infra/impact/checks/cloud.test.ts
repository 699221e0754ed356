// Tests the findings about cloud controllers that delete Nodes unknown to their cloud, or copy an instance's labels to its Node.
import { expect, test } from "vitest";
import { cloudController, copiesRegion } from "../../../../infra/impact/checks/cloud.ts";
import { cluster, formerMachine, found, program, worker } from "../made-up-cluster.ts";

const providedBy = (providerID: string) => [worker("w", { spec: { providerID } })];
const controller = (...flags: string[]) => [program("aws-cloud-controller-manager", flags)];
const FOUND = ["breaks Deployment shop/aws-cloud-controller-manager"];

test.each<[situation: string, objects: Parameters<typeof found>[1], findings: string[], copies: boolean]>([
  ["a controller in the cluster", { deployments: controller() }, FOUND, true],
  [
    "without its lifecycle controller",
    { deployments: controller("--controllers=*,-cloud-node-lifecycle") },
    [],
    true,
  ],
  [
    "with it alone",
    { deployments: controller("--controllers=cloud-node-lifecycle-controller") },
    FOUND,
    true,
  ],
  ["one out of sight", { nodes: providedBy("aws:///eu/i-1") }, ["breaks Nodes (aws://)"], true],
  ["k3s, whose controller deletes none", { nodes: providedBy("k3s://w") }, [], true],
  ["kind", { nodes: providedBy("kind://docker/w") }, [], false],
  ["no cloud", { nodes: [worker("w"), formerMachine("edge")] }, [], false],
])("%s → %#", (_, objects, findings, copies) => {
  expect(found(cloudController, objects)).toEqual(findings);
  expect(copiesRegion(cluster(objects))).toBe(copies);
});
