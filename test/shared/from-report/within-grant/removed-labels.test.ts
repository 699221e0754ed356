// Tests labels that a machine no longer reports, and that its join token does not allow.
import { expect, it } from "vitest";
import { reportedSetters } from "../../../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../../../shared/from-report/reported-status.ts";
import { withinGrant } from "../../../../shared/from-report/within-grant.ts";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { updateNode } from "../../../../shared/node/update-node.ts";
import { success } from "../../../../shared/result.ts";
import { NODE_LABELS_ANNOTATION } from "../../../../shared/setters/fact-labels.ts";
import { facts, HEALTHY } from "../../../worker/support/facts.ts";

it.each<[situation: string, mayLabel: string[] | undefined]>([
  ["allows no label", []],
  ["allows any label", undefined],
])(
  "a label of the configuration that is gone, and a token that %s → the Node loses the label",
  (_, mayLabel) => {
    const what = facts("edge-7");
    const reported = {
      name: "edge-7",
      facts: what,
      vitals: HEALTHY,
      nowMs: 0,
      memory: structuredClone(NOTHING_REMEMBERED),
      recordEvent: () => undefined,
    };
    const before: Node = {
      metadata: {
        name: "edge-7",
        labels: { "example.com/rack": "7" },
        annotations: { [NODE_LABELS_ANNOTATION]: "example.com/rack" },
      },
      status: {},
    };
    const holder = {
      name: "edge-7",
      grant: { withoutFactsOnlyTaint: false, ...(mayLabel && { mayLabel }) },
      fieldManager: "rollcall.test",
      isOtherNode: () => false,
    };
    const { node } = updateNode(before, () => success(false), "linux", "amd64", [
      ...reportedSetters(reported),
      (draft) => {
        withinGrant(before, draft, what, holder);
        return null;
      },
    ]);
    expect(node.metadata?.labels).not.toHaveProperty(["example.com/rack"]);
  },
);
