// Tests that the digest of the parts of a Node that other writers own changes only with those parts.
import { describe, expect, it, test } from "vitest";
import type { Node, NodeCondition } from "../../../../shared/kubernetes/types.ts";
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
    labels: { a: "1", b: "2" },
    annotations: { c: "3", d: "4" },
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
const withSpec = (more: object): Node => ({ ...NODE, spec: { ...spec, ...more } });
const withStatus = (more: object): Node => ({ ...NODE, status: { ...status, ...more } });
const digest = (node: Node) => othersDigest(node, "rollcall");

describe("the digest changes with", () => {
  test.each<[string, Node]>([
    ["the uid", withMetadata({ uid: "u-2" })],
    ["a deletion that has begun", withMetadata({ deletionTimestamp: "2026-01-01T00:00:00Z" })],
    ["a label's value", withMetadata({ labels: { a: "1", b: "3" } })],
    ["a label that is gone", withMetadata({ labels: { a: "1" } })],
    ["labels that are gone", withMetadata({ labels: undefined })],
    ["an annotation", withMetadata({ annotations: { c: "3", d: "5" } })],
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
    ["labels in another order", withMetadata({ labels: { b: "2", a: "1" } })],
    ["annotations in another order", withMetadata({ annotations: { d: "4", c: "3" } })],
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
