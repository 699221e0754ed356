// Tests the findings about the scheduler's search, version skew, and upgrade plans.
import { describe, expect, test } from "vitest";
import {
  matchesSelector,
  schedulerThroughput,
  upgradePlans,
  versionSkew,
} from "../../../../infra/impact/checks/control-plane.ts";
import { machineNode } from "../../../../infra/impact/machine-node.ts";
import { found, staticPod, textOf, workersUpTo } from "../made-up-cluster.ts";

test.each<[situation: string, others: number, machines: number, says: RegExp]>([
  ["200 workers and 5,000", 200, 5000, /seeks 468 .* walks all 5200 .* percentageOfNodesToScore: 1 /],
  ["20 workers and 5,000", 20, 5000, /No setting changes that/],
  ["more workers than it seeks", 900, 200, /^$/],
  ["fewer Nodes than matter", 20, 300, /^$/],
  ["no worker yet", 0, 5000, /^$/],
])("the scheduler: %s → %#", (_, others, machines, says) => {
  const objects = { nodes: workersUpTo(others), systemPods: [staticPod("kube-scheduler")] };
  expect(textOf(schedulerThroughput, objects, { machines })).toMatch(says);
});

test.each<[version: string | null, findings: string[]]>([
  ["v1.36.3", []],
  ["v1.30.9", []],
  ["v1.40.0-gke.1", []],
  ["v1.41.0", ["note Nodes"]],
  [null, []],
  ["unknown", []],
])("an apiserver of %s → %j", (version, findings) => {
  expect(found(versionSkew, { version })).toEqual(findings);
});

describe("plans of system-upgrade-controller", () => {
  const plans = (nodeSelector?: object) => [
    {
      metadata: { name: "agents", namespace: "system-upgrade" },
      spec: { ...(nodeSelector && { nodeSelector }) },
    },
  ];
  const WORKERS = {
    matchExpressions: [{ key: "node-role.kubernetes.io/control-plane", operator: "DoesNotExist" }],
  };

  test.each<[situation: string, selector: object | undefined, hostname: boolean, findings: string[]]>([
    ["all workers, Nodes with a hostname", WORKERS, true, ["breaks Plan system-upgrade/agents"]],
    ["all workers, Nodes without a hostname", WORKERS, false, []],
    ["other Nodes", { matchLabels: { pool: "a" } }, true, []],
    ["no selector", undefined, true, []],
  ])("%s → %#", (_, selector, hasHostname, findings) => {
    const { labels, ...rest } = machineNode();
    const node = { ...rest, labels: { ...labels, ...(hasHostname && { "kubernetes.io/hostname": "edge" }) } };
    expect(found(upgradePlans, { upgradePlans: plans(selector) }, { node })).toEqual(findings);
  });

  test("an empty selector matches everything", () => {
    expect(matchesSelector({}, {})).toBe(true);
  });
});
