// Tests the findings about Services with topology hints, in clusters that assign hints and in others.
import type { V1Node } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { topologyHints } from "../../../../../infra/impact/checks/network.ts";
import { machineNode } from "../../../../../infra/impact/machine-node.ts";
import { formerMachine, found, worker } from "../../made-up-cluster.ts";

const service = (annotations: Record<string, string>) => [
  { metadata: { name: "cart", namespace: "shop", annotations } },
];
const AUTO = { "service.kubernetes.io/topology-mode": "Auto" };
const ZONED = [worker("a", { zone: "a" }), worker("b", { zone: "b" })];

test.each<[situation: string, annotations: Record<string, string>, nodes: V1Node[], findings: string[]]>([
  ["Auto, two zones", AUTO, ZONED, ["breaks Service shop/cart"]],
  [
    "the former annotation",
    { "service.kubernetes.io/topology-aware-hints": "auto" },
    ZONED,
    ["breaks Service shop/cart"],
  ],
  ["no annotation", {}, ZONED, []],
  ["Disabled", { "service.kubernetes.io/topology-mode": "Disabled" }, ZONED, []],
  ["Auto, one zone", AUTO, [worker("a", { zone: "a" })], ["note Service shop/cart"]],
  ["Auto, a Node without a zone", AUTO, [...ZONED, worker("c")], ["note Service shop/cart"]],
  [
    "Auto, one that is not Ready has none",
    AUTO,
    [...ZONED, worker("c", { isReady: false })],
    ["breaks Service shop/cart"],
  ],
  [
    "Auto, a control plane has none",
    AUTO,
    [...ZONED, worker("c", { labels: { "node-role.kubernetes.io/control-plane": "" } })],
    ["breaks Service shop/cart"],
  ],
  [
    "Auto, a machine of rollcall's has none",
    AUTO,
    [...ZONED, formerMachine("edge")],
    ["breaks Service shop/cart"],
  ],
])("%s → %j", (_, annotations, nodes, findings) => {
  expect(found(topologyHints, { services: service(annotations), nodes })).toEqual(findings);
});

test("Nodes that hints pass over (NODE_HINTS=pass-over) → nothing", () => {
  const node = machineNode({ "node-role.kubernetes.io/master": "" });
  expect(found(topologyHints, { services: service(AUTO), nodes: ZONED }, { node })).toEqual([]);
});
