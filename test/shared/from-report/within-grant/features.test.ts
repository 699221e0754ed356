// Tests which labels in NFD's namespace a join token allows by `mayFeature`: only those that follow from features.
import { expect, test } from "vitest";
import { reportedInitialNode } from "../../../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../../../shared/from-report/reported-status.ts";
import { withinGrant } from "../../../../shared/from-report/within-grant.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { Grant } from "../../../../shared/protocol/join-tokens.ts";
import { facts, HEALTHY } from "../../../worker/support/facts.ts";

const NAME = "edge-7";
const GPU = "feature.node.kubernetes.io/pci-10de.present";
const FAMILY = "feature.node.kubernetes.io/cpu-model.family";

/** A machine with a GPU, which also claims a GPU of another vendor by --node-labels. */
const WITH_GPU: Partial<Facts> = {
  features: {
    flags: {},
    attributes: { "cpu.model": { family: "25" } },
    instances: { "pci.device": { attributes: ["class", "vendor"], rows: [["0300", "10de"]] } },
  },
};
const CLAIMED = "feature.node.kubernetes.io/pci-1002.present";
const claiming = (labels: Record<string, string>): Partial<Facts> => ({
  settings: { ...facts(NAME).settings, nodeLabels: labels },
});

/** Returns the labels in NFD's namespace that the new Node has, and the parts that the grant did not allow. */
function created(more: Partial<Facts>, may: Pick<Grant, "mayLabel" | "mayFeature" | "labels">) {
  const what = facts(NAME, more);
  const grant = { withoutFactsOnlyTaint: false, ...may };
  const memory = structuredClone(NOTHING_REMEMBERED);
  const reported = {
    name: NAME,
    facts: what,
    vitals: HEALTHY,
    nowMs: 0,
    memory,
    recordEvent: () => undefined,
  };
  const initial = reportedInitialNode(reported, grant);
  if (!initial.ok) throw new Error(initial.error);
  const { node } = initial.value;
  const holder = { name: NAME, grant, fieldManager: "rollcall.test", isOtherNode: () => false };
  const left = withinGrant(undefined, node, what, holder);
  const labels = Object.entries(node.metadata.labels ?? {}).filter(([key]) => key.startsWith("feature."));
  return { labels: Object.fromEntries(labels), left: left.filter((part) => part.includes("feature.")) };
}

test.each<[situation: string, Partial<Facts>, Parameters<typeof created>[1], labels: Record<string, string>]>(
  [
    ["mayLabel [] → none", WITH_GPU, { mayLabel: [] }, {}],
    ["mayFeature [] → none", WITH_GPU, { mayLabel: [], mayFeature: [] }, {}],
    ["a name → its label", WITH_GPU, { mayLabel: [], mayFeature: ["pci-10de.present"] }, { [GPU]: "true" }],
    [
      "the beginning of names → their labels",
      WITH_GPU,
      { mayLabel: [], mayFeature: ["cpu-*"] },
      { [FAMILY]: "25" },
    ],
    ["mayLabel with the whole key → its label", WITH_GPU, { mayLabel: [GPU] }, { [GPU]: "true" }],
    [
      "--node-labels without the feature → mayFeature does not allow it",
      { ...WITH_GPU, ...claiming({ [CLAIMED]: "true" }) },
      { mayLabel: [], mayFeature: ["pci-1002.present"] },
      {},
    ],
    [
      "--node-labels with another value → the feature's",
      { ...WITH_GPU, ...claiming({ [FAMILY]: "99" }) },
      { mayLabel: [], mayFeature: ["cpu-model.family"] },
      { [FAMILY]: "25" },
    ],
    [
      "without features, --node-labels → none",
      claiming({ [GPU]: "true" }),
      { mayLabel: [], mayFeature: ["*"] },
      {},
    ],
    [
      "the token's own label → the token's value",
      WITH_GPU,
      { mayLabel: [], mayFeature: ["*"], labels: { [GPU]: "false", [FAMILY]: "token" } },
      expect.objectContaining({ [GPU]: "false", [FAMILY]: "token" }) as Record<string, string>,
    ],
  ],
)("%s", (_, more, may, labels) => {
  expect(created(more, may).labels).toEqual(labels);
});

test("the labels that the token does not allow → named", () => {
  expect(created(WITH_GPU, { mayLabel: [], mayFeature: ["cpu-*"] }).left).toEqual([
    "label feature.node.kubernetes.io/pci-0300_10de.present",
    `label ${GPU}`,
  ]);
});
