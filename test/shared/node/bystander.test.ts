// Tests that a Node without pods has no labels and resources that other programs count, while the kubelet's logic
// sees its own labels.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Node, NodeStatus, Taint } from "../../../shared/kubernetes/types.ts";
import { adoptionPatch, FACTS_ONLY_TAINT, MOVED_LABELS } from "../../../shared/node/ownership.ts";
import {
  asKubelets,
  bystander,
  cordon,
  formOf,
  isBystander,
  kubeletsView,
  type NodeForm,
} from "../../../shared/node/bystander.ts";
import { leaveOthers } from "../../../shared/node/parts.ts";
import { NODE_LABELS_ANNOTATION } from "../../../shared/setters/fact-labels.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";

type Labels = Record<string, string>;

const OTHER: Taint = { key: "example.com/shop", effect: "NoSchedule" };
const ADVICE: Taint = { ...FACTS_ONLY_TAINT, effect: "PreferNoSchedule" };
const MUST = false;
const MAY_GO_WITHOUT = true;
const OURS = "rollcall.east";

const PLATFORM = {
  "kubernetes.io/os": "linux",
  "beta.kubernetes.io/os": "linux",
  "kubernetes.io/arch": "arm64",
  "beta.kubernetes.io/arch": "arm64",
};
const HOST = { "kubernetes.io/hostname": "edge-7", ...PLATFORM };
const MOVED_HOST = {
  "rollcall.dev/hostname": "edge-7",
  "rollcall.dev/os": "linux",
  "rollcall.dev/arch": "arm64",
};
const MARKS = {
  "node.kubernetes.io/exclude-disruption": "",
  "failure-domain.beta.kubernetes.io/region": "rollcall.dev",
};
const ZONE = { "topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/zone": "a" };
const REGION = { "topology.kubernetes.io/region": "n", "failure-domain.beta.kubernetes.io/region": "n" };
const MOVED_PLACE = { "rollcall.dev/zone": "a", "rollcall.dev/region": "n" };
const SITE = { site: "oslo" };

function draft(
  labels: Labels,
  more: { taints?: Taint[]; status?: NodeStatus; listed?: string } = {},
): DraftNode {
  const { taints = [FACTS_ONLY_TAINT], status = {}, listed } = more;
  const annotations = listed === undefined ? {} : { annotations: { [NODE_LABELS_ANNOTATION]: listed } };
  return { metadata: { labels, ...annotations }, spec: { taints }, status: { ...status } };
}

function labelsAfter(labels: Labels, form: NodeForm, before?: Node): Labels {
  const node = draft(labels);
  expect(bystander(MUST, form, before)(node)).toBeNull();
  return node.metadata.labels ?? {};
}

describe("which Nodes run no pods", () => {
  test.each<[situation: string, taints: Taint[], token: boolean, expected: boolean]>([
    ["tainted", [OTHER, FACTS_ONLY_TAINT], MUST, true],
    ["its taint was removed", [OTHER], MUST, true],
    ["all its taints were removed", [], MUST, true],
    ["the token allows a Node without the taint, and it has another one", [OTHER], MAY_GO_WITHOUT, false],
    ["the token allows a Node without the taint, and it has no taints", [], MAY_GO_WITHOUT, false],
    [
      "the token allows a Node without the taint, and it has the taint",
      [FACTS_ONLY_TAINT],
      MAY_GO_WITHOUT,
      true,
    ],
    [
      "the token allows a Node without the taint, and it has the key with another effect",
      [ADVICE],
      MAY_GO_WITHOUT,
      false,
    ],
  ])("%s", (_, taints, token, expected) => {
    expect(isBystander({ spec: { taints } }, token)).toBe(expected);
    const labels = { ...HOST, ...SITE };
    const node = draft(labels, { taints });
    bystander(token, "moved")(node);
    expect(node.metadata.labels).toEqual(expected ? { ...MOVED_HOST, ...MARKS, ...SITE } : labels);
  });
});

describe("labels", () => {
  test.each<[situation: string, form: NodeForm, labels: Labels, expected: Labels]>([
    ["a machine's own", "moved", { ...HOST, ...SITE }, { ...MOVED_HOST, ...MARKS, ...SITE }],
    ["those of a cloud", "moved", { ...ZONE, ...REGION }, { ...MOVED_PLACE, ...MARKS }],
    [
      "a zone by its beta key alone",
      "moved",
      { "failure-domain.beta.kubernetes.io/zone": "b" },
      { "rollcall.dev/zone": "b", ...MARKS },
    ],
    [
      "a region by its beta key alone",
      "moved",
      { ...MARKS, ...REGION },
      { "rollcall.dev/region": "n", ...MARKS },
    ],
    [
      "two values of a zone → the newer key's",
      "moved",
      { ...ZONE, "failure-domain.beta.kubernetes.io/zone": "b" },
      { "rollcall.dev/zone": "a", ...MARKS },
    ],
    ["both forms", "both", { ...HOST, ...SITE }, { ...HOST, ...MOVED_HOST, ...MARKS, ...SITE }],
    [
      "both forms, with a cloud's region",
      "both",
      REGION,
      { ...REGION, "rollcall.dev/region": "n", "node.kubernetes.io/exclude-disruption": "" },
    ],
    [
      "a region that a cloud's controller has copied → is no fact",
      "moved",
      { "topology.kubernetes.io/region": "rollcall.dev" },
      MARKS,
    ],
    ["not converted yet", "kubelet", { ...HOST, ...SITE }, { ...HOST, ...SITE }],
  ])("%s, form %s", (_, form, labels, expected) => {
    expect(labelsAfter(labels, form)).toEqual(expected);
  });

  test("that equal the apiserver's → the very same object, which later steps compare first", () => {
    const labels = { ...MOVED_HOST, ...MARKS, ...SITE };
    expect(labelsAfter(HOST, "moved", { metadata: { labels } })).not.toBe(labels);
    expect(labelsAfter({ ...HOST, ...SITE }, "moved", { metadata: { labels } })).toBe(labels);
  });

  const keys = ["site", ...Object.values<readonly string[]>(MOVED_LABELS).flat()];
  const kubelets = fc
    .record(Object.fromEntries(keys.map((key) => [key, fc.constantFrom("a", "b")])), { requiredKeys: [] })
    .map((labels): Labels => ({ ...HOST, ...labels, ...PLATFORM }));

  test("any → the kubelet's logic finds its own labels, as far as one key does not hide another", () => {
    fc.assert(
      fc.property(kubelets, fc.constantFrom<NodeForm>("moved", "both"), (labels, form) => {
        const node = draft({ ...labels }, { listed: Object.keys(labels).join(",") });
        bystander(MUST, form)(node);
        asKubelets(node);
        const expected = { ...labels };
        for (const [first, ...others] of Object.values<readonly [string, ...string[]]>(MOVED_LABELS))
          for (const key of others)
            if (expected[key] !== undefined && expected[first] !== undefined) expected[key] = expected[first];
        expect(node.metadata.labels).toEqual(expected);
      }),
    );
  });
});

describe("the kubelet's view", () => {
  const view = (labels: Labels, listed?: string): Labels =>
    kubeletsView(draft(labels, listed === undefined ? {} : { listed })).metadata?.labels ?? {};
  test.each<[situation: string, labels: Labels, listed: string | undefined, expected: Labels]>([
    ["of a Node with a kubelet's labels", { ...HOST, ...ZONE }, undefined, { ...HOST, ...ZONE }],
    ["of a bystander", { ...MOVED_HOST, ...MARKS, ...SITE }, undefined, { ...HOST, ...SITE }],
    [
      "of a zone that was reported by one key",
      { ...MOVED_HOST, ...MARKS, ...MOVED_PLACE },
      "topology.kubernetes.io/zone",
      { ...HOST, "topology.kubernetes.io/zone": "a" },
    ],
    [
      "where another writer has set a host's name",
      { ...MOVED_HOST, ...MARKS, "kubernetes.io/hostname": "theirs" },
      undefined,
      HOST,
    ],
    [
      "where another writer has set a region by its beta key",
      { ...MOVED_HOST, "failure-domain.beta.kubernetes.io/region": "theirs" },
      undefined,
      { ...HOST, "failure-domain.beta.kubernetes.io/region": "theirs" },
    ],
    [
      "of a bystander whose platform was removed",
      { "rollcall.dev/hostname": "edge-7", ...MARKS },
      undefined,
      { "kubernetes.io/hostname": "edge-7" },
    ],
    [
      "where another writer has changed the platform → updateNode's value counts",
      {
        ...MOVED_HOST,
        "rollcall.dev/os": "plan9",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
      },
      undefined,
      { ...HOST, "beta.kubernetes.io/os": "plan9" },
    ],
  ])("%s", (_, labels, listed, expected) => {
    const before = { ...labels };
    expect(view(labels, listed)).toEqual(expected);
    // The old labels are unchanged, because the last known Node may share the object.
    expect(labels).toEqual(before);
  });
});

describe("the form of a Node", () => {
  const fields = { "f:kubernetes.io/hostname": {}, "f:kubernetes.io/os": {} };
  const managedBy = (manager: string) => [{ manager, fieldsV1: { "f:metadata": { "f:labels": fields } } }];
  test.each<[situation: string, labels: Labels, writer: string, expected: NodeForm | null]>([
    ["a kubelet's", HOST, OURS, "kubelet"],
    ["no labels", {}, OURS, null],
    ["a bystander's", { ...MOVED_HOST, ...MARKS }, OURS, "moved"],
    ["both", { ...HOST, ...MOVED_HOST }, OURS, "both"],
    ["both, one of them by a removed kubelet", { ...HOST, ...MOVED_HOST }, "kubelet", "both"],
    ["a bystander's, next to another writer's", { ...HOST, ...MOVED_HOST }, "kyverno", "moved"],
    ["a bystander's, next to one that no manager owns", { ...PLATFORM, ...MOVED_HOST }, OURS, "moved"],
    [
      "a bystander's, of which one was replaced by a kubelet's",
      { "kubernetes.io/os": "linux", "rollcall.dev/hostname": "edge-7", ...MARKS },
      "kyverno",
      "moved",
    ],
  ])("%s", (_, labels, writer, expected) => {
    expect(formOf({ metadata: { labels, managedFields: managedBy(writer) } }, OURS)).toBe(expected);
  });
});

describe("resources", () => {
  const capacity = { cpu: "4", memory: "8Gi", pods: "110", "hugepages-2Mi": "0", "example.com/gpu": "2" };
  const allocatable = { cpu: "3", memory: "7Gi", pods: "110" };
  test.each<[situation: string, form: NodeForm, status: NodeStatus, expected: NodeStatus]>([
    [
      "the whole capacity allocatable → nothing is, and the capacity stays",
      "moved",
      { capacity, allocatable },
      {
        capacity,
        allocatable: { cpu: "0", memory: "0", pods: "0", "hugepages-2Mi": "0", "example.com/gpu": "0" },
      },
    ],
    [
      "a capacity alone → the same",
      "both",
      { capacity: { cpu: "4" } },
      { capacity: { cpu: "4" }, allocatable: { cpu: "0" } },
    ],
    ["no capacity → none", "moved", {}, {}],
    [
      "not converted yet → no pods",
      "kubelet",
      { capacity, allocatable },
      { capacity, allocatable: { ...allocatable, pods: "0" } },
    ],
    ["not converted yet, no capacity → none", "kubelet", {}, {}],
  ])("%s", (_, form, status, expected) => {
    const before = structuredClone(status);
    const node = draft({}, { status });
    bystander(MUST, form)(node);
    expect(node.status).toEqual(expected);
    expect(status).toEqual(before);
  });

  test("of a Node for pods → unchanged", () => {
    const node = draft({}, { taints: [], status: { capacity, allocatable } });
    bystander(MAY_GO_WITHOUT, "moved")(node);
    expect(node.status).toEqual({ capacity, allocatable });
  });
});

test("created unschedulable → cordoned, and marked; the node controller sets the taint", () => {
  const node = draft({}, { listed: "a" });
  cordon(node);
  expect(node).toMatchObject({
    metadata: { annotations: { [NODE_LABELS_ANNOTATION]: "a", "rollcall.dev/unschedulable": "true" } },
    spec: { unschedulable: true, taints: [FACTS_ONLY_TAINT] },
  });
});

describe("a kubelet's label on a bystander", () => {
  test.each<[writer: string, stays: boolean]>([
    [OURS, false],
    ["kubelet", false],
    ["k3s", false],
    ["kubectl-label", true],
    ["kyverno", true],
  ])("written by %s → stays: %s", (manager, stays) => {
    const key = "kubernetes.io/hostname";
    const fieldsV1 = { "f:metadata": { "f:labels": { [`f:${key}`]: {} } } };
    const original: Node = { metadata: { labels: { [key]: "x" }, managedFields: [{ manager, fieldsV1 }] } };
    const node = draft({});
    const others = leaveOthers(original, node, OURS);
    expect(node.metadata.labels).toEqual(stays ? { [key]: "x" } : {});
    expect(others).toEqual(stays ? { [`label ${key}`]: manager } : {});
  });
});

describe("the region by which the node controller evicts", () => {
  test.each<[writer: string, expected: string]>([
    [OURS, "rollcall.dev"],
    ["kubelet", "rollcall.dev"],
    ["cloud-controller-manager", "n"],
  ])("written by %s → %s", (manager, expected) => {
    const key = "failure-domain.beta.kubernetes.io/region";
    const fieldsV1 = { "f:metadata": { "f:labels": { [`f:${key}`]: {} } } };
    const original: Node = { metadata: { labels: { [key]: "n" }, managedFields: [{ manager, fieldsV1 }] } };
    const node = draft({ [key]: "rollcall.dev" });
    leaveOthers(original, node, OURS);
    expect(node.metadata.labels).toEqual({ [key]: expected });
  });
});

describe("adoption", () => {
  const labels = { ...HOST, ...ZONE, ...SITE };
  const away = Object.fromEntries(Object.keys({ ...HOST, ...ZONE }).map((key) => [key, null]));
  test.each<[situation: string, taints: Taint[], token: boolean, labels: object | undefined]>([
    ["with the taint to come → without a kubelet's labels", [OTHER], MUST, away],
    ["with the taint there → the same", [FACTS_ONLY_TAINT], MAY_GO_WITHOUT, away],
    ["of a Node for pods → with them", [OTHER], MAY_GO_WITHOUT, undefined],
  ])("%s", (_, taints, token, expected) => {
    const patch = adoptionPatch({ metadata: { labels }, spec: { taints } }, "east", token);
    expect(patch).toMatchObject({ metadata: { annotations: { "rollcall.dev/owner": "east" } } });
    expect((patch["metadata"] as { labels?: object }).labels).toEqual(expected);
  });
});
