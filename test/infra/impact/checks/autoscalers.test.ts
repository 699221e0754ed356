// Tests the findings about autoscalers and the descheduler: the number of machines that reaches their limits, and
// the way to exclude Nodes.
import { describe, expect, test } from "vitest";
import {
  clusterAutoscaler,
  descheduler,
  karpenter,
  proportionalAutoscaler,
} from "../../../../infra/impact/checks/autoscalers.ts";
import { found, program, textOf, workersUpTo } from "../made-up-cluster.ts";

describe("cluster-autoscaler", () => {
  const scaled = (...flags: string[]) => ({
    deployments: [program("cluster-autoscaler", flags)],
    nodes: workersUpTo(20, { capacity: { cpu: "16", memory: "64Gi" } }),
  });
  const OBJECT = "Deployment shop/cluster-autoscaler";

  test.each<[situation: string, flags: string[], machines: number, severities: string[], says: RegExp]>([
    ["more machines than its bounds", [], 300, ["breaks"], /As soon as 145 of 300 are silent/],
    ["as many as reach 45 %", [], 17, ["breaks"], /As soon as 17 of 17/],
    ["one fewer", [], 16, ["note"], /even if all 16 are silent: it stops at 17/],
    ["a count that allows for them", ["--ok-total-unready-count=303"], 300, ["note"], /it stops at 304/],
    ["a percentage of 100", ["--max-total-unready-percentage=100"], 300, ["note"], /it stops at 321/],
    [
      "most cores, and one left beyond the machines",
      ["--ok-total-unready-count=999", "--cores-total=0:621"],
      300,
      ["note", "costs"],
      /320 cores of 621/,
    ],
    [
      "most cores, and none left",
      ["--ok-total-unready-count=999", "--cores-total=0:620"],
      300,
      ["note", "breaks"],
      /320 cores of 620/,
    ],
    [
      "most memory",
      ["--ok-total-unready-count=999", "--memory-total=0:6400"],
      300,
      ["note", "costs"],
      /1280 GiB of memory of 6400/,
    ],
    [
      "most Nodes",
      ["--ok-total-unready-count=999", "--max-nodes-total=100"],
      300,
      ["note", "breaks"],
      /20 Nodes of 100/,
    ],
  ])("%s → %#", (_, flags, machines, severities, says) => {
    expect(found(clusterAutoscaler, scaled(...flags), { machines })).toEqual(
      severities.map((severity) => `${severity} ${OBJECT}`),
    );
    expect(textOf(clusterAutoscaler, scaled(...flags), { machines })).toMatch(says);
  });

  test("none → nothing", () => {
    expect(found(clusterAutoscaler, { nodes: workersUpTo(20) })).toEqual([]);
  });
});

describe("cluster-proportional-autoscaler", () => {
  const linear = (parameters: object) => `--default-params=${JSON.stringify({ linear: parameters })}`;
  const FLAGS = ["--configmap=dns", "--target=deployment/coredns"];
  const stored = {
    metadata: { name: "dns", namespace: "shop" },
    data: { linear: '{"nodesPerReplica":10,"coresPerReplica":256}' },
  };

  test.each<[situation: string, flags: string[], configMaps: object[], says: RegExp]>([
    [
      "its default parameters",
      [...FLAGS, linear({ nodesPerReplica: 16 })],
      [],
      /18 more replicas of deployment\/coredns/,
    ],
    ["a most of replicas", [...FLAGS, linear({ nodesPerReplica: 16, max: 5 })], [], /: 3 more replicas/],
    [
      "its ConfigMap, which counts",
      [...FLAGS, linear({ nodesPerReplica: 16 })],
      [stored],
      /30 more replicas/,
    ],
    ["no parameters of that kind", FLAGS, [], /may give deployment\/coredns more/],
    ["parameters that are no JSON", [...FLAGS, "--default-params={"], [], /may give/],
    ["labels that rollcall's Nodes lack", [...FLAGS, "--nodelabels=!rollcall.dev/machine"], [], /^$/],
  ])("%s → %#", (_, flags, configMaps, says) => {
    const deployments = [program("cluster-proportional-autoscaler", flags)];
    const objects = { deployments, configMaps, nodes: workersUpTo(20) };
    expect(textOf(proportionalAutoscaler, objects)).toMatch(says);
  });
});

test.each<[situation: string, policy: string, findings: string[]]>([
  [
    "LowNodeUtilization",
    "profiles: [{pluginConfig: [{name: LowNodeUtilization}]}]",
    ["costs Deployment shop/descheduler"],
  ],
  [
    "it, for other Nodes",
    'nodeSelector: "!rollcall.dev/machine"\nprofiles: [{name: LowNodeUtilization}]',
    [],
  ],
  ["other plugins alone", "profiles: [{pluginConfig: [{name: RemoveDuplicates}]}]", []],
])("a descheduler with %s → %j", (_, policy, findings) => {
  const volumes = [{ name: "policy", configMap: { name: "policy" } }];
  const configMaps = [{ metadata: { name: "policy", namespace: "shop" }, data: { "policy.yaml": policy } }];
  expect(found(descheduler, { deployments: [program("descheduler", [], { volumes })], configMaps })).toEqual(
    findings,
  );
});

test.each([
  [[], []],
  [[{ metadata: { name: "default" } }], ["note 1 NodePool"]],
])("NodePools of Karpenter %j → %j", (nodePools, findings) => {
  expect(found(karpenter, { nodePools })).toEqual(findings);
});
