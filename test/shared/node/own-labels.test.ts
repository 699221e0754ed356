// Tests the labels that rollcall sets on a Node: missing or changed labels are restored, and labels of other
// writers stay.
import { describe, expect, test } from "vitest";
import { ownLabels, tokenLabels } from "../../../shared/node/own-labels.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";

const ROLE = "node-role.kubernetes.io/";
const OWN = { "rollcall.dev/machine": "", "rollcall.dev/deployment": "east" };
const EDGE = { [`${ROLE}edge`]: "" };
const listed = (roles: string) => ({ "rollcall.dev/roles": roles });

interface Marked {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

function after(metadata: Marked, roles: string[] = [], deployment: string | null = "east"): Marked {
  const before = structuredClone(metadata);
  const node = { metadata: { ...metadata }, spec: {}, status: {} };
  expect(ownLabels(deployment, roles)(node)).toBeNull();
  // The old metadata are unchanged, because the last known Node may share the object.
  expect(metadata).toEqual(before);
  return node.metadata;
}

test.each<[situation: string, before: Marked, roles: string[], expected: Marked]>([
  ["a new Node", {}, [], { labels: OWN }],
  ["a Node of an earlier version without them", { labels: { a: "b" } }, [], { labels: { a: "b", ...OWN } }],
  ["another writer has removed them", { labels: { "rollcall.dev/machine": "" } }, [], { labels: OWN }],
  [
    "another writer has changed them",
    { labels: { "rollcall.dev/machine": "x", "rollcall.dev/deployment": "west" } },
    [],
    { labels: OWN },
  ],
  ["a role", {}, ["edge"], { labels: { ...OWN, ...EDGE }, annotations: listed("edge") }],
  [
    "two roles",
    { annotations: { kept: "yes" } },
    ["shop", "edge"],
    {
      labels: { ...OWN, ...EDGE, [`${ROLE}shop`]: "" },
      annotations: { kept: "yes", ...listed("edge,shop") },
    },
  ],
  [
    "another role is named",
    { labels: { ...OWN, ...EDGE }, annotations: listed("edge") },
    ["shop"],
    { labels: { ...OWN, [`${ROLE}shop`]: "" }, annotations: listed("shop") },
  ],
  [
    "the role is removed from the token",
    { labels: { ...OWN, ...EDGE }, annotations: listed("edge") },
    [],
    { labels: OWN, annotations: {} },
  ],
  [
    "our role was removed",
    { labels: OWN, annotations: listed("edge") },
    ["edge"],
    { labels: { ...OWN, ...EDGE }, annotations: listed("edge") },
  ],
  [
    "another writer has set this role: it is theirs",
    { labels: { ...OWN, [`${ROLE}edge`]: "true" } },
    ["edge"],
    { labels: { ...OWN, [`${ROLE}edge`]: "true" } },
  ],
  [
    "another writer has set another role: it is theirs",
    { labels: { ...OWN, ...EDGE, [`${ROLE}control-plane`]: "" }, annotations: listed("edge") },
    ["shop"],
    { labels: { ...OWN, [`${ROLE}control-plane`]: "", [`${ROLE}shop`]: "" }, annotations: listed("shop") },
  ],
  [
    "the annotation lists a label that is never ours",
    { labels: { ...OWN, [`${ROLE}control-plane`]: "" }, annotations: listed("control-plane") },
    [],
    { labels: { ...OWN, [`${ROLE}control-plane`]: "" }, annotations: {} },
  ],
])("%s → its labels and the list of our roles", (_, before, roles, expected) => {
  const marked = after(before, roles);
  expect(marked).toEqual(expected);
  // A second run changes nothing, so that a heartbeat without changes writes nothing.
  const again = after(marked, roles);
  expect(again.labels).toBe(marked.labels);
  expect(again.annotations).toBe(marked.annotations);
});

test.each<[situation: string, owner: string, listed: string | undefined]>([
  ["this deployment has written it", "rollcall.east", "edge"],
  ["another writer has written it", "kubectl-label", undefined],
])("a role without a list, which another writer has removed, and %s", (_, manager, list) => {
  const managedFields = [{ manager, fieldsV1: { "f:metadata": { "f:labels": { [`f:${ROLE}edge`]: {} } } } }];
  const node = { metadata: { labels: { ...OWN, ...EDGE }, managedFields }, spec: {}, status: {} };
  expect(ownLabels("east", ["edge"], "rollcall.east")(node)).toBeNull();
  const { annotations } = node.metadata as Marked;
  expect(annotations?.["rollcall.dev/roles"]).toBe(list);
});

describe("a deployment without a name", () => {
  test("→ only the label for a machine", () => {
    expect(after({}, [], null)).toEqual({ labels: { "rollcall.dev/machine": "" } });
  });
});

describe("the labels of a join token", () => {
  type Map = Record<string, string>;
  const LIST = "rollcall.dev/token-labels";
  const ROLE = "node-role.kubernetes.io/edge";

  test.each<[situation: string, given: Map, before: Map, annotations: Map, after: Map, listed?: string]>([
    ["a new Node", { tier: "front" }, {}, {}, { tier: "front" }, "tier"],
    [
      "another writer has removed it",
      { tier: "front" },
      { a: "b" },
      { [LIST]: "tier" },
      { a: "b", tier: "front" },
      "tier",
    ],
    ["another token has none", {}, { tier: "front", a: "b" }, { [LIST]: "tier" }, { a: "b" }],
    [
      "another token has none, and the machine reports it now",
      {},
      { tier: "back" },
      { [LIST]: "tier", "rollcall.dev/fact-labels": "tier" },
      { tier: "back" },
    ],
    [
      "another token gives none, and the machine's configuration says it by now",
      {},
      { tier: "back" },
      { [LIST]: "tier", "rollcall.dev/node-labels": "tier" },
      { tier: "back" },
    ],
    [
      "another writer has listed a label that no token has",
      {},
      { [ROLE]: "", "rollcall.dev/machine": "" },
      { [LIST]: `${ROLE},rollcall.dev/machine` },
      { [ROLE]: "", "rollcall.dev/machine": "" },
    ],
  ])("%s", (_, given, labels, annotations, after, listed) => {
    const node: DraftNode = { metadata: { labels, annotations }, spec: {}, status: {} };
    expect(tokenLabels(given)(node)).toBeNull();
    expect(node.metadata.labels).toEqual(after);
    expect(node.metadata.annotations?.[LIST]).toBe(listed);
  });
});
