// Tests whether a pod would run on a Node of rollcall's: node selectors, affinities, fields, tolerations.
import type { V1NodeSelectorTerm, V1PodSpec, V1Toleration } from "@kubernetes/client-node";
import { describe, expect, test } from "vitest";
import { machineNode } from "../../../infra/impact/machine-node.ts";
import { matchesNodeAffinity, runsDaemonPod, toleratesTaints } from "../../../infra/impact/scheduling.ts";

const node = machineNode({ site: "b", rack: "7" });
const required = (...nodeSelectorTerms: V1NodeSelectorTerm[]): Partial<V1PodSpec> => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const label = (key: string, operator: string, ...values: string[]): V1NodeSelectorTerm => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});
const field = (operator: string, name: string): V1NodeSelectorTerm => ({
  matchFields: [{ key: "metadata.name", operator, values: [name] }],
});

describe("node selector and required affinity", () => {
  test.each<[situation: string, spec: Partial<V1PodSpec>, matches: boolean]>([
    ["none", {}, true],
    ["a selector of its label", { nodeSelector: { site: "b" } }, true],
    ["another value", { nodeSelector: { site: "c" } }, false],
    ["a platform label of Kubernetes", { nodeSelector: { "kubernetes.io/os": "linux" } }, false],
    ["In with its value", required(label("site", "In", "a", "b")), true],
    ["In with others", required(label("site", "In", "a")), false],
    ["NotIn of a label that is absent", required(label("zone", "NotIn", "a")), true],
    ["Exists", required(label("rollcall.dev/machine", "Exists")), true],
    ["DoesNotExist of its label", required(label("rollcall.dev/machine", "DoesNotExist")), false],
    ["Gt below its value", required(label("rack", "Gt", "6")), true],
    ["Lt at its value", required(label("rack", "Lt", "7")), false],
    ["one of two terms", required(label("site", "In", "a"), label("site", "In", "b")), true],
    ["a term without a requirement", required({}), false],
    ["no term", required(), false],
    ["the name of another Node", required(field("In", "worker-1")), false],
    ["not the name of another Node", required(field("NotIn", "worker-1")), true],
    [
      "both of one term, and one fails",
      required(Object.assign(label("site", "In", "b"), field("In", "worker-1"))),
      false,
    ],
    ["a preferred affinity alone", { affinity: { nodeAffinity: {} } }, true],
  ])("%s → %s", (_, spec, matches) => {
    expect(matchesNodeAffinity({ containers: [], ...spec }, node)).toBe(matches);
  });
});

describe("tolerations of the facts-only taint", () => {
  const KEY = "rollcall.dev/facts-only";
  test.each<[situation: string, tolerations: V1Toleration[], tolerated: boolean]>([
    ["none", [], false],
    ["everything", [{ operator: "Exists" }], true],
    ["each NoSchedule", [{ operator: "Exists", effect: "NoSchedule" }], true],
    ["each NoExecute", [{ operator: "Exists", effect: "NoExecute" }], false],
    ["its key", [{ key: KEY, operator: "Exists" }], true],
    ["its key without a value", [{ key: KEY }], true],
    ["its key with a value that it does not have", [{ key: KEY, value: "x" }], false],
    ["another key", [{ key: "dedicated", operator: "Exists" }], false],
    ["an empty key without Exists", [{}], false],
  ])("%s → %s", (_, tolerations, tolerated) => {
    expect(toleratesTaints(tolerations, node.taints)).toBe(tolerated);
  });

  test("PreferNoSchedule keeps no pod away", () => {
    expect(toleratesTaints([], [{ key: "slow", effect: "PreferNoSchedule" }])).toBe(true);
  });
});

test.each<[situation: string, spec: Partial<V1PodSpec>, taint: string, runs: boolean]>([
  ["a cordoned Node", {}, "node.kubernetes.io/unschedulable", true],
  ["a taint of another key", {}, "dedicated", false],
  ["the name of another Node", { nodeName: "worker-1" }, "node.kubernetes.io/unschedulable", false],
])("a DaemonSet's pod and %s → %#", (_, spec, key, runs) => {
  const tainted = { ...node, taints: [{ key, effect: "NoSchedule" }] };
  expect(runsDaemonPod({ containers: [], ...spec }, tainted)).toBe(runs);
});
