// What another field manager has set stays, whatever the machine says; what nobody else has set is written.
import { describe, expect, test } from "vitest";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { leaveOthers } from "../../../../shared/node/parts.ts";
import type { DraftNode } from "../../../../shared/setters/setter.ts";

const OURS = "rollcall.east";
type Map = Record<string, string>;

/** Who owns which key of labels or annotations. */
function owned(field: "labels" | "annotations", owners: Record<string, string[]>) {
  return Object.entries(owners).map(([manager, keys]) => ({
    manager,
    operation: "Update",
    fieldsV1: { "f:metadata": { [`f:${field}`]: Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) } },
  }));
}

function decide(
  field: "labels" | "annotations",
  [was, is]: [was: Map, is: Map],
  owners: Record<string, string[]>,
  listed?: Map,
) {
  const original: Node = { metadata: { [field]: was, managedFields: owned(field, owners) } };
  const node: DraftNode = {
    metadata: { [field]: is, ...(listed && { annotations: listed }) },
    spec: {},
    status: {},
  };
  const others = leaveOthers(original, node, OURS);
  return { others, metadata: node.metadata };
}

describe("a label of ours", () => {
  test.each<
    [situation: string, was: Map, is: Map, owners: Record<string, string[]>, after: Map, others: Map]
  >([
    ["that is set", {}, { tier: "b" }, {}, { tier: "b" }, {}],
    ["that changes", { tier: "a" }, { tier: "b" }, { [OURS]: ["tier"] }, { tier: "b" }, {}],
    ["that goes", { tier: "a" }, {}, { [OURS]: ["tier"] }, {}, {}],
    [
      "with another's value",
      { tier: "a" },
      { tier: "b" },
      { [OURS]: ["x"], "kubectl-label": ["tier"] },
      { tier: "a" },
      { "label tier": "kubectl-label" },
    ],
    [
      "with another's value, which is no longer said",
      { tier: "a" },
      {},
      { "kubectl-label": ["tier"] },
      { tier: "a" },
      { "label tier": "kubectl-label" },
    ],
    [
      "that somebody else says as well, and which is no longer said here",
      { tier: "a" },
      {},
      { [OURS]: ["tier"], argocd: ["tier"] },
      { tier: "a" },
      { "label tier": "argocd" },
    ],
    ["which the other one has removed", {}, { tier: "b" }, { "kubectl-label": ["x"] }, { tier: "b" }, {}],
    [
      "of another deployment",
      { tier: "a" },
      { tier: "b" },
      { "rollcall.west": ["tier"] },
      { tier: "a" },
      { "label tier": "rollcall.west" },
    ],
    ["where the apiserver records no owners", { tier: "a" }, { tier: "b" }, {}, { tier: "b" }, {}],
    [
      "that only rollcall decides about",
      { "rollcall.dev/machine": "x" },
      { "rollcall.dev/machine": "" },
      { "kubectl-label": ["rollcall.dev/machine"] },
      { "rollcall.dev/machine": "" },
      {},
    ],
    [
      "that the platform decides about",
      { "kubernetes.io/os": "x" },
      { "kubernetes.io/os": "linux" },
      { "kubectl-label": ["kubernetes.io/os"] },
      { "kubernetes.io/os": "linux" },
      {},
    ],
  ])("%s", (_, was, is, owners, after, others) => {
    const before = structuredClone(was);
    const decided = decide("labels", [was, is], owners);
    expect(decided.metadata.labels).toEqual(after);
    expect(decided.others).toEqual(others);
    expect(was).toEqual(before);
  });

  test("with another's value → is not listed as ours", () => {
    const listed = {
      "rollcall.dev/fact-labels": "rack,tier",
      "rollcall.dev/token-labels": "tier",
      "rollcall.dev/node-labels": "a,tier",
      kept: "x",
    };
    const { metadata } = decide("labels", [{ tier: "a" }, { tier: "b" }], { kubectl: ["tier"] }, listed);
    expect(metadata.annotations).toEqual({
      "rollcall.dev/fact-labels": "rack",
      "rollcall.dev/node-labels": "a",
      kept: "x",
    });
  });
});

describe("an annotation of ours", () => {
  const ATTACH = "volumes.kubernetes.io/controller-managed-attach-detach";
  test.each<[situation: string, key: string, stays: boolean]>([
    ["with another's value", ATTACH, true],
    ["that lists what is ours, with another's value", "rollcall.dev/fact-labels", false],
  ])("%s", (_, key, stays) => {
    const { metadata, others } = decide("annotations", [{ [key]: "a" }, { [key]: "b" }], { kubectl: [key] });
    expect(metadata.annotations).toEqual({ [key]: stays ? "a" : "b" });
    expect(others).toEqual(stays ? { [`annotation ${key}`]: "kubectl" } : {});
  });
});

test("nothing of another's is changed → the same objects", () => {
  const [was, is] = [
    { tier: "a", team: "x" },
    { tier: "b", team: "x" },
  ];
  const { metadata } = decide("labels", [was, is], { kubectl: ["team"], [OURS]: ["tier"] });
  expect(metadata.labels).toBe(is);
});
