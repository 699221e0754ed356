// Tests the Node that a report registers, and the allocatable resources that a kubelet would set.
import { expect, test } from "vitest";
import {
  kubeletsAllocatable,
  reportedEvents,
  reportedInitialNode,
  reportedSetters,
} from "../../../shared/from-report/reported-node.ts";
import { MAX_IMAGE_BYTES, NOTHING_REMEMBERED } from "../../../shared/from-report/reported-status.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { FACTS_ONLY_TAINT, NO_LOAD_BALANCER_LABEL } from "../../../shared/node/ownership.ts";
import { setNodeStatus } from "../../../shared/node/update-node.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { FACT_LABELS_ANNOTATION, NODE_LABELS_ANNOTATION } from "../../../shared/setters/fact-labels.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";
import { facts, HEALTHY } from "../../worker/support/facts.ts";

const GPU = "example.com/gpu";
const WITH_GPU: Partial<Facts> = {
  dropIns: { resources: { [GPU]: 2 }, labels: {}, conditions: [], working: 1, failures: [] },
};

test.each<
  [situation: string, more: Partial<Facts>, capacity: Record<string, string>, gpu: string | undefined]
>([
  ["a resource of a drop-in → its amount", WITH_GPU, { cpu: "4", [GPU]: "2" }, "2"],
  ["one that its join token does not allow → none, like its capacity", WITH_GPU, { cpu: "4" }, undefined],
  ["one that another writer announces → its amount", {}, { cpu: "4", [GPU]: "3" }, "3"],
])("%s", (_, more, capacity, gpu) => {
  const allocatable = Object.fromEntries(Object.keys(capacity).map((name) => [name, "0"]));
  const reported = { name: "edge-7", facts: facts("edge-7", more), vitals: HEALTHY, nowMs: 0 };
  const found = kubeletsAllocatable(reported, { status: { capacity, allocatable } });
  expect(found).toMatchObject({ cpu: "4" });
  expect(found?.[GPU]).toBe(gpu);
});

const reportedBy = (more: Partial<Facts>, vitals: Partial<Vitals> = {}) => ({
  name: "edge-7",
  facts: facts("edge-7", more),
  vitals: { ...HEALTHY, ...vitals },
  nowMs: 0,
  memory: structuredClone(NOTHING_REMEMBERED),
  recordEvent: () => undefined,
});

function registered(more: Partial<Facts>, grant: Grant = { withoutFactsOnlyTaint: false }): Node {
  const initial = reportedInitialNode(reportedBy(more), grant);
  if (!initial.ok) throw new Error(initial.error);
  return initial.value.node;
}

const withTaints = (registerWithTaints: Facts["settings"]["registerWithTaints"]): Partial<Facts> => ({
  settings: { ...facts("edge-7").settings, registerWithTaints },
});
const OWN = { key: "example.com/a", value: "b", effect: "NoSchedule" } as const;

test.each<[situation: string, Facts["settings"]["registerWithTaints"], isAllowed: boolean, keys: string[]]>([
  [
    "no taints configured → the facts-only taint, whatever the token allows",
    null,
    true,
    [FACTS_ONLY_TAINT.key],
  ],
  ["an empty list, and the token allows it → none", [], true, []],
  ["an empty list, which the token does not allow → the facts-only taint", [], false, [FACTS_ONLY_TAINT.key]],
  ["a taint, and the token allows it → that taint alone", [OWN], true, [OWN.key]],
  [
    "the facts-only taint configured as well → once, since the apiserver refuses duplicates",
    [OWN, { key: FACTS_ONLY_TAINT.key, effect: "NoSchedule" }],
    false,
    [FACTS_ONLY_TAINT.key, OWN.key],
  ],
])("%s", (_, taints, withoutFactsOnlyTaint, keys) => {
  const { spec } = registered(withTaints(taints), { withoutFactsOnlyTaint });
  expect((spec?.taints ?? []).map(({ key }) => key)).toEqual(keys);
});

const images = (count: number) => Array.from({ length: count }, () => IMAGE);
/** An image that counts as 1 KiB. */
const IMAGE = { repoDigests: [], repoTags: ["x".repeat(1024 - 48 - 3)], sizeBytes: 1 };
const MOST = MAX_IMAGE_BYTES / 1024;
const RUNC = { name: "runc", supportsRecursiveReadOnlyMounts: true, supportsUserNamespaces: false };
const RUNTIME = { name: "containerd", version: "1.6.20" };

test.each<[situation: string, more: Partial<Facts>, status: Node["status"]]>([
  [
    "no container runtime → an empty version, and no port: no kubelet listens",
    { runtime: null },
    {
      nodeInfo: expect.objectContaining({ containerRuntimeVersion: "" }),
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    },
  ],
  [
    "a runtime that has not answered since the shim's start → an empty version, not an unknown runtime's",
    {},
    { nodeInfo: expect.objectContaining({ containerRuntimeVersion: "" }) },
  ],
  [
    "a runtime → its version and its handlers",
    { runtime: RUNTIME, images: [], runtimeHandlers: [RUNC] },
    {
      nodeInfo: expect.objectContaining({ containerRuntimeVersion: "containerd://1.6.20" }),
      runtimeHandlers: [expect.objectContaining({ name: RUNC.name })],
    },
  ],
  [
    "a runtime whose version cannot be parsed → an unknown version",
    { runtime: { name: "containerd", version: "no version" } },
    { nodeInfo: expect.objectContaining({ containerRuntimeVersion: "containerd://Unknown" }) },
  ],
  [
    "volumes in use → they, once they are synchronised",
    { volumes: { synced: true, inUse: ["kubernetes.io/csi/a"] } },
    { volumesInUse: ["kubernetes.io/csi/a"] },
  ],
])("%s", (_, more, status) => {
  expect(registered(more).status).toMatchObject(status!);
});

test.each([
  ["as many images as fit → all", MOST, MOST],
  ["one more → the first ones", MOST + 1, MOST],
])("%s", (_, count, shown) => {
  const settings = { ...facts("edge-7").settings, nodeStatusMaxImages: -1 };
  const { status } = registered({ settings, runtime: RUNTIME, images: images(count) });
  expect(status?.images).toHaveLength(shown);
});

test.each([
  ["that has run its drop-ins → the Node gets the condition's new state", { RaidDegraded: 300 }, "True"],
  ["that has just started → the Node keeps the condition of before", undefined, "False"],
])("a drop-in's condition, and a shim %s", (_, remainingSeconds, status) => {
  const condition = {
    type: "RaidDegraded",
    status: "True",
    reason: "Failed",
    message: "",
    expiresInSeconds: 300,
  } as const;
  const dropIns = { resources: {}, labels: {}, conditions: [condition], working: 1, failures: [] };
  const draft = structuredClone(registered({}));
  draft.status!.conditions!.unshift({ ...condition, status: "False" });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a registered Node has all parts of a draft
  setNodeStatus(draft as DraftNode, reportedSetters(reportedBy({ dropIns }, { remainingSeconds })));
  expect(draft.status?.conditions?.find(({ type }) => type === condition.type)?.status).toBe(status);
});

test.each<[situation: string, vitals: Partial<Vitals>, events: string[]]>([
  ["a shutdown → an event", { shuttingDown: true }, ["Shutdown"]],
  ["no shutdown → none", {}, []],
])("%s", (_, vitals, events) => {
  const recorded: string[] = [];
  const recordEvent = (_type: string, reason: string) => void recorded.push(reason);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the setters of events read no Node
  for (const set of reportedEvents({ ...reportedBy({}, vitals), recordEvent })) set({} as DraftNode);
  expect(recorded).toEqual(events);
});

test.each<
  [situation: string, before: Node["metadata"], more: Partial<Facts>, labels: Record<string, string>]
>([
  [
    "no default labels → these, without those that the kubelet's setters require",
    { labels: {} },
    {},
    {
      "kubernetes.io/hostname": facts("edge-7").settings.hostname,
      "beta.kubernetes.io/os": "linux",
      "beta.kubernetes.io/arch": "amd64",
    },
  ],
  [
    "a label of a drop-in that is gone → none",
    {
      labels: { "example.com/rack": "7" },
      annotations: { [FACT_LABELS_ANNOTATION]: "example.com/rack" },
    },
    WITH_GPU,
    {},
  ],
])("a Node with %s", (_, metadata, more, labels) => {
  const draft = { ...structuredClone(registered({})), metadata: { name: "edge-7", ...metadata } };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a registered Node has all parts of a draft
  setNodeStatus(draft as DraftNode, reportedSetters(reportedBy(more)));
  expect(draft.metadata.labels).toMatchObject(labels);
  expect(draft.metadata.labels).not.toHaveProperty(["example.com/rack"]);
});

test("a configuration with labels of other setters → its setter lists only the others", () => {
  const nodeLabels = {
    "example.com/a": "1",
    "kubernetes.io/arch": "mine",
    "kubernetes.io/hostname": "mine",
    [NO_LOAD_BALANCER_LABEL]: "mine",
  };
  const settings = { ...facts("edge-7").settings, nodeLabels };
  const draft = { ...structuredClone(registered({})), metadata: { name: "edge-7" } as Node["metadata"] };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a registered Node has all parts of a draft
  setNodeStatus(draft as DraftNode, reportedSetters(reportedBy({ settings })));
  expect(draft.metadata?.annotations?.[NODE_LABELS_ANNOTATION]).toBe("example.com/a");
});

test.each([
  ["no node IP → IPv4", [], "10.0.0.5"],
  ["any IPv6 address as node IP → IPv6", ["::"], "fd00::5"],
])("default routes by IPv4 and IPv6, and %s", (_, nodeIPs, address) => {
  const defaultRoute = { ipv4: "10.0.0.5", ipv6: "fd00::5" };
  const addresses = { nodeIPs, lookup: [], onInterface: [], defaultRoute };
  expect(registered({ addresses }).status?.addresses?.[0]).toEqual({ type: "InternalIP", address });
});

test("settings that the schema does not accept → an error, and no Node", () => {
  const settings = { ...facts("edge-7").settings, evictionHard: { "memory.available": "much" } };
  expect(() => registered({ settings })).toThrow("quantities must match");
});
