// Tests the findings about objects that select Nodes of an existing fleet by labels that an upgrade moves.
import { expect, test } from "vitest";
import { movedSelectors, movedVolumes } from "../../../../infra/impact/checks/upgrade.ts";
import { formerMachine, found, textOf, TOLERATES_ALL, worker, workload } from "../made-up-cluster.ts";

const nodes = [worker("worker-1"), formerMachine("edge-1")];
const LINUX = { nodeSelector: { "kubernetes.io/os": "linux" } };
const onHost = (name: string) => ({
  nodeSelectorTerms: [
    { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }] },
  ],
});
const requiring = (name: string) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onHost(name) } },
});

test.each<[situation: string, spec: object, findings: string[]]>([
  ["its platform, and tolerates", { ...LINUX, ...TOLERATES_ALL }, ["breaks Deployment shop/app"]],
  [
    "its hostname by affinity, and tolerates",
    { ...requiring("edge-1"), ...TOLERATES_ALL },
    ["breaks Deployment shop/app"],
  ],
  ["its platform, and does not tolerate", LINUX, []],
  ["another host", { ...requiring("worker-1"), ...TOLERATES_ALL }, []],
  ["a label that stays", { nodeSelector: { "rollcall.dev/machine": "" }, ...TOLERATES_ALL }, []],
])("a workload that selects a machine by %s → %j", (_, spec, findings) => {
  expect(found(movedSelectors, { nodes, deployments: [workload("app", spec)] })).toEqual(findings);
});

test("the finding names the label of before and the one of now", () => {
  const daemonSets = [workload("agent", { ...LINUX, ...TOLERATES_ALL })];
  expect(textOf(movedSelectors, { nodes, daemonSets })).toContain("kubernetes.io/os (now rollcall.dev/os)");
});

test.each<[host: string, findings: string[]]>([
  ["edge-1", ["breaks PersistentVolume data"]],
  ["worker-1", []],
])("a volume of %s → %j", (host, findings) => {
  const persistentVolumes = [
    { metadata: { name: "data" }, spec: { nodeAffinity: { required: onHost(host) } } },
  ];
  expect(found(movedVolumes, { nodes, persistentVolumes })).toEqual(findings);
});
