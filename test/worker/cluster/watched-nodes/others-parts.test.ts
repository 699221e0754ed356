// Tests that the digest of the parts of a Node that other writers own changes only with those parts.
import { describe, expect, it, test } from "vitest";
import type { Node, NodeCondition } from "../../../../shared/kubernetes/types.ts";
import { OWNED_PARTS, type OwnedPart } from "../../../house/owned-parts.ts";
import {
  isControlled,
  isGivenUp,
  isOnlyOurs,
  othersDigest,
} from "../../../../worker/cluster/watched-nodes.ts";

const OURS = "rollcall.rollcall";
const CONTROLLER = "kube-controller-manager";

/** Returns a manager's managedFields entry for these conditions, and for the taints if `taints` is true. */
function wrote(manager: string, conditions: string[] = [], taints = false) {
  const written = Object.fromEntries(conditions.map((type) => [`k:{"type":${JSON.stringify(type)}}`, {}]));
  return {
    manager,
    fieldsV1: {
      ...(conditions.length > 0 && { "f:status": { "f:conditions": written } }),
      ...(taints && { "f:spec": { "f:taints": {} } }),
    },
  };
}

const READY: NodeCondition = { type: "Ready", status: "True", reason: "R", message: "m" };
const DISK: NodeCondition = { type: "DiskBroken", status: "False", reason: "D", message: "d" };

const NODE: Node = {
  metadata: {
    name: "edge-1",
    uid: "u-1",
    resourceVersion: "1",
    labels: { "rollcall.dev/machine": "", rack: "b7", team: "blue" },
    annotations: {
      "rollcall.dev/owner": "rollcall",
      "rollcall.dev/node-labels": "rack",
      "rollcall.dev/rule-annotations": "rack",
      load: "0.3",
    },
    managedFields: [wrote(OURS, ["Ready"]), wrote("kubectl", ["DiskBroken"])],
  },
  spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
  status: {
    capacity: { cpu: "2", memory: "1Gi" },
    allocatable: { cpu: "2" },
    addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
    nodeInfo: { kubeletVersion: "v1" } as never,
    conditions: [READY, DISK],
  },
};
const { metadata, spec, status } = NODE;
const withMetadata = (more: object): Node => ({ ...NODE, metadata: { ...metadata, ...more } });
const withLabels = (labels: object): Node => withMetadata({ labels });
const reversed = (map: object = {}) => Object.fromEntries(Object.entries(map).toReversed());
const withSpec = (more: object): Node => ({ ...NODE, spec: { ...spec, ...more } });
const withStatus = (more: object): Node => ({ ...NODE, status: { ...status, ...more } });
const digest = (node: Node) => othersDigest(node, "rollcall");

describe("the digest changes with", () => {
  test.each<[string, Node]>([
    ["the uid", withMetadata({ uid: "u-2" })],
    ["a deletion that has begun", withMetadata({ deletionTimestamp: "2026-01-01T00:00:00Z" })],
    ["a listed label's value", withLabels({ ...metadata?.labels, rack: "b8" })],
    ["a listed label that is gone", withLabels({ "rollcall.dev/machine": "", team: "blue" })],
    ["labels that are gone", withMetadata({ labels: undefined })],
    [
      "an annotation of ours",
      withMetadata({ annotations: { ...metadata?.annotations, "rollcall.dev/owner": "x" } }),
    ],
    ["a cordon", withSpec({ unschedulable: true })],
    ["a taint", withSpec({ taints: [] })],
    ["a spec that is gone", { ...NODE, spec: undefined } as unknown as Node],
    ["a capacity", withStatus({ capacity: { cpu: "3", memory: "1Gi" } })],
    ["what is allocatable", withStatus({ allocatable: {} })],
    ["an address", withStatus({ addresses: [] })],
    ["the version that a kubelet says", withStatus({ nodeInfo: { kubeletVersion: "v2" } })],
    ["another's condition", withStatus({ conditions: [READY, { ...DISK, status: "True" }] })],
    ["another's condition that is gone", withStatus({ conditions: [READY] })],
    [
      "a condition of ours that another writer has written",
      {
        ...withMetadata({ managedFields: [wrote(OURS, []), wrote(CONTROLLER, ["Ready"])] }),
        status: { ...status, conditions: [{ ...READY, status: "Unknown" }, DISK] },
      },
    ],
  ])("%s", (_, changed) => {
    expect(digest(changed)).not.toBe(digest(NODE));
  });
});

describe("the digest stays with", () => {
  test.each<[string, Node]>([
    ["a version", withMetadata({ resourceVersion: "2" })],
    ["labels in another order", withLabels(reversed(metadata?.labels))],
    ["annotations in another order", withMetadata({ annotations: reversed(metadata?.annotations) })],
    [
      "another program's label",
      withLabels({ ...metadata?.labels, team: "red", "load.example.com/cpu": "high" }),
    ],
    ["another program's label that is gone", withLabels({ "rollcall.dev/machine": "", rack: "b7" })],
    [
      "another program's annotation",
      withMetadata({ annotations: { ...metadata?.annotations, load: "0.4", "field.cattle.io/x": "y" } }),
    ],
    ["resources in another order", withStatus({ capacity: { memory: "1Gi", cpu: "2" } })],
    ["a condition of ours", withStatus({ conditions: [{ ...READY, status: "False" }, DISK] })],
    [
      "another's heartbeat",
      withStatus({ conditions: [READY, { ...DISK, lastHeartbeatTime: "2026-01-01T00:00:00Z" }] }),
    ],
    ["images", withStatus({ images: [{ names: ["i"] }] })],
  ])("%s", (_, changed) => {
    expect(digest(changed)).toBe(digest(NODE));
  });

  it("a Node that was given up → also changes with another program's label, since no status write reads the label", () => {
    const unknown = { status: { conditions: [{ ...READY, status: "Unknown" }] } };
    const labelled = { ...withLabels({ ...metadata?.labels, team: "red" }), ...unknown };
    expect(digest(labelled)).not.toBe(digest({ ...NODE, ...unknown }));
  });

  it("another deployment's conditions count as another writer's", () => {
    const changed = withStatus({ conditions: [{ ...READY, status: "False" }, DISK] });
    expect(othersDigest(changed, "east")).not.toBe(othersDigest(NODE, "east"));
  });

  it("without managedFields all conditions count as another writer's", () => {
    const unrecorded = withMetadata({ managedFields: undefined });
    const changed = { ...unrecorded, status: { ...status, conditions: [{ ...READY, status: "False" }] } };
    expect(digest(changed)).not.toBe(digest(unrecorded));
  });

  it("a Node without any part has a digest, too", () => {
    expect(digest({})).toMatch(/^[\w-]{16}$/);
  });
});

describe("the table of rollcall's parts", () => {
  /** Returns examples of the keys that a row names. A Node lists its keys that the table does not name. */
  const keysOf = ({ kind, name }: OwnedPart): string[] =>
    name === `any other ${kind}`
      ? ["rack"]
      : name
          .split(", ")
          .filter((key) => key !== "…")
          .map((key) => key.replace("…", "edge").replace(/=.*/, ""));
  const keyed = OWNED_PARTS.filter(({ kind }) => kind === "label" || kind === "annotation");

  test.each(keyed.flatMap((row) => keysOf(row).map((key) => [row.kind, key] as const)))(
    "%s %s → the digest changes with the value",
    (kind, key) => {
      const field = `${kind}s` as "labels" | "annotations";
      const changed = withMetadata({ [field]: { ...metadata?.[field], [key]: "changed" } });
      expect(digest(changed)).not.toBe(digest(NODE));
    },
  );
});

describe("a digest of an earlier version", () => {
  /** The Node of the recording: the version before ours returned DIGEST for it. */
  const RECORDED: Node = {
    metadata: {
      name: "edge-1",
      uid: "u-1",
      labels: { a: "1", "rollcall.dev/machine": "" },
      annotations: { c: "3", "rollcall.dev/owner": "rollcall" },
      managedFields: [{ manager: OURS }],
    },
    spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
  const DIGEST = "gktAF4fn90Jms0qE";

  it("covers all labels and annotations → can still be computed", () => {
    expect(othersDigest(RECORDED, "rollcall", true)).toBe(DIGEST);
    expect(othersDigest(RECORDED, "rollcall")).not.toBe(DIGEST);
  });

  it("of a Node without another program's labels and annotations → equals the present digest", () => {
    const own = { labels: { "rollcall.dev/machine": "" }, annotations: { "rollcall.dev/owner": "rollcall" } };
    const node = { ...RECORDED, metadata: { ...RECORDED.metadata, ...own } };
    expect(othersDigest(node, "rollcall", true)).toBe(othersDigest(node, "rollcall"));
  });
});

test.each<[situation: string, managedFields: object[] | undefined, isOnly: boolean]>([
  ["only we have written", [wrote(OURS), wrote(OURS)], true],
  ["another manager has written as well", [wrote(OURS), wrote("kubectl")], false],
  ["another deployment has written", [wrote("rollcall.east")], false],
  ["there are no managedFields", undefined, false],
  ["no manager is left", [], false],
])("a Node that %s → only ours: %s", (_, managedFields, isOnly) => {
  expect(isOnlyOurs(withMetadata({ managedFields }), "rollcall")).toBe(isOnly);
});

const conditioned = (ready: string) => ({ status: { conditions: [{ ...READY, status: ready }] } });

test.each<[situation: string, node: Node, isUnknown: boolean]>([
  ["is Ready", conditioned("True"), false],
  ["is not Ready", conditioned("False"), false],
  ["is Unknown", conditioned("Unknown"), true],
  ["has another Unknown condition", { status: { conditions: [{ ...DISK, status: "Unknown" }] } }, false],
  ["has no condition", {}, false],
])("a Node that %s → given up: %s", (_, node, isUnknown) => {
  expect(isGivenUp(node)).toBe(isUnknown);
});

test.each<[situation: string, managedFields: object[] | undefined, controlled: boolean]>([
  ["has taints of ours", [wrote(OURS, [], true)], false],
  ["has taints of the controller", [wrote(CONTROLLER, [], true)], true],
  ["has taints of k3s, which contains the controller", [wrote("k3s", [], true)], true],
  ["has taints of MicroK8s, which contains the controller", [wrote("kubelite", [], true)], true],
  ["has a kubelet's condition", [wrote("kubelet", ["Ready"])], false],
  ["was tainted by an operator", [wrote("kubectl-taint", [], true)], false],
  ["was tainted by an autoscaler", [wrote("cluster-autoscaler", [], true)], false],
  ["was tainted by a program of another name", [wrote("my-controller-manager", [], true)], false],
  [
    "was tainted by an operator and the controller",
    [wrote("kubectl-taint", [], true), wrote(CONTROLLER, [], true)],
    true,
  ],
  ["has a condition Ready of the controller", [wrote(CONTROLLER, ["Ready"])], true],
  ["has another condition of the controller", [wrote(CONTROLLER, ["DiskBroken"])], false],
  ["has only labels of the controller", [wrote(CONTROLLER)], false],
  ["has a condition Ready of another writer", [wrote("kubectl-edit", ["Ready"])], false],
  ["has no managedFields", undefined, false],
])("a Node that %s → a node controller manages it: %s", (_, managedFields, controlled) => {
  expect(isControlled(withMetadata({ managedFields }))).toBe(controlled);
});
