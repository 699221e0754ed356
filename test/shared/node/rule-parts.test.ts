// Tests what a Node gets of the deployment's rules: within the machine's grant, and beside other writers.
import { describe, expect, it } from "vitest";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import type { RulesResult } from "../../../shared/features/rules-result.ts";
import { withinRules } from "../../../shared/from-report/rules-within-grant.ts";
import { ruleChanges, taintsAfter } from "../../../shared/node/rule-parts.ts";

const result = (more: Partial<RulesResult> = {}): RulesResult => ({
  labels: {},
  annotations: {},
  resources: {},
  taints: [],
  matched: [],
  refused: [],
  ...more,
});
const GPU = "feature.node.kubernetes.io/gpu";

describe("the grant", () => {
  const all = result({
    labels: { [GPU]: "true", "example.com/gpu": "true" },
    annotations: { "example.com/model": "h100" },
    resources: { "example.com/gpus": "2" },
    taints: [{ key: "example.com/gpu", effect: "NoSchedule" }],
  });
  it.each<[string, Partial<Grant>, string[]]>([
    ["no list", {}, []],
    [
      "empty lists",
      { mayLabel: [], mayTaint: [], mayResource: [] },
      [
        `label ${GPU}`,
        "label example.com/gpu",
        "annotation example.com/model",
        "resource example.com/gpus",
        "taint example.com/gpu",
      ],
    ],
    [
      "empty lists, and a feature by its name in NFD's namespace",
      { mayLabel: [], mayTaint: [], mayResource: [], mayFeature: ["gpu"] },
      [
        "label example.com/gpu",
        "annotation example.com/model",
        "resource example.com/gpus",
        "taint example.com/gpu",
      ],
    ],
    [
      "empty lists, and a namespace of features",
      { mayLabel: [], mayTaint: [], mayResource: [], mayFeature: ["example.com/*"] },
      [`label ${GPU}`],
    ],
    [
      "the lists of each kind",
      { mayLabel: ["example.com/*"], mayTaint: ["example.com/gpu"], mayResource: ["example.com/gpus"] },
      [`label ${GPU}`],
    ],
  ])("%s → %j leaves out %j", (_, grant, leftOut) => {
    expect(withinRules(all, grant).leftOut).toEqual(leftOut);
  });

  it("a label and a taint of the token → the token's count, without a notice", () => {
    const grant: Partial<Grant> = {
      labels: { [GPU]: "leased" },
      taints: [{ key: "example.com/gpu", effect: "NoSchedule", value: "leased" }],
    };
    expect(withinRules(all, grant)).toMatchObject({
      parts: { labels: { "example.com/gpu": "true" }, taints: [] },
      leftOut: [],
    });
  });

  it.each(["rollcall.dev/machine", "node-role.kubernetes.io/gpu"])("a reserved key, %s → left out", (key) => {
    const { parts, leftOut } = withinRules(result({ labels: { [key]: "" } }), { mayFeature: ["*"] });
    expect([parts.labels, leftOut]).toEqual([{}, [`label ${key}`]]);
  });
});

describe("taints", () => {
  const gpu = { key: "example.com/gpu", effect: "NoSchedule" };
  const other = { key: "example.com/down", effect: "NoExecute" };
  const valued = { ...gpu, value: "a" };
  it.each([
    ["a new one → added", [other], [], [gpu], [other, gpu]],
    ["the same → none", [other, gpu], [gpu], [gpu], null],
    ["no longer wanted → removed", [gpu, other], [gpu], [], [other]],
    ["another value → replaced", [gpu, other], [gpu], [valued], [other, valued]],
    ["removed by another writer → stays removed", [other], [gpu], [gpu], null],
    ["changed by another writer, no longer wanted → stays", [valued], [gpu], [], null],
    ["another writer's of the same key and effect → stays", [valued], [], [gpu], null],
  ])("%s", (_, found, before, wanted, after) => {
    expect(taintsAfter(found, before, wanted)).toEqual(after);
  });
});

it("changes → each part with its values before and after, sorted within its kind", () => {
  const before = result({ labels: { b: "1", c: "1" }, taints: [{ key: "k", effect: "NoSchedule" }] });
  const after = result({ labels: { a: "1", b: "2" }, annotations: { n: "x" }, resources: { r: "1" } });
  expect(ruleChanges(before, after)).toEqual([
    { kind: "label", key: "a", before: null, after: "1" },
    { kind: "label", key: "b", before: "1", after: "2" },
    { kind: "label", key: "c", before: "1", after: null },
    { kind: "annotation", key: "n", before: null, after: "x" },
    { kind: "resource", key: "r", before: null, after: "1" },
    { kind: "taint", key: "k:NoSchedule", before: "", after: null },
  ]);
});
