// Tests a grant's limits on a Node that lacks most fields, and on the values of a Node that a report does not change.
import { describe, expect, it } from "vitest";
import { withinGrant } from "../../../../shared/from-report/within-grant.ts";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { Grant } from "../../../../shared/protocol/join-tokens.ts";
import type { DraftNode } from "../../../../shared/setters/setter.ts";
import { facts } from "../../../worker/support/facts.ts";

const NAME = "edge-7";
/** A grant that allows nothing. */
const NOTHING: Grant = {
  withoutFactsOnlyTaint: true,
  mayLabel: [],
  mayTaint: [],
  mayCloud: [],
  mayCondition: [],
  mayResource: [],
  mayAddress: [],
};

/** Returns the Node after the limits, and the parts that the grant did not allow. */
function limited(before: Node | undefined, draft: DraftNode, more: Partial<Facts> = {}) {
  const holder = { name: NAME, grant: NOTHING, fieldManager: "rollcall.test", isOtherNode: () => false };
  const left = withinGrant(before, draft, { ...facts(NAME), ...more }, holder);
  return { left, draft };
}
const sparse = (): DraftNode => ({ metadata: { name: NAME, labels: {} }, spec: {}, status: {} });

describe.each<[string, Node | undefined]>([
  ["a new Node", undefined],
  ["a Node without fields", {}],
  ["a Node with empty fields", { metadata: {}, status: {} }],
])("%s", (_, before) => {
  it("and a report that adds nothing → nothing is refused, and no field is added", () => {
    expect(limited(before, sparse())).toEqual({ left: [], draft: sparse() });
  });

  it("and a report that adds a value to each list → each is refused, and none is in the Node", () => {
    const draft: DraftNode = {
      metadata: {
        name: NAME,
        labels: { tier: "x" },
        annotations: { "alpha.kubernetes.io/provided-node-ip": "10.0.0.1" },
      },
      spec: {},
      status: {
        conditions: [{ type: "RaidDegraded", status: "True" }],
        capacity: { "example.com/a": "1", "example.com/b": "1" },
        addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      },
    };
    const { left } = limited(before, draft, {
      devices: { capacity: { "example.com/a": 1 }, allocatable: {}, removed: [] },
      dropIns: {
        resources: { "example.com/b": 1 },
        labels: {},
        conditions: [
          { type: "RaidDegraded", status: "True", reason: "Failed", message: "md0", expiresInSeconds: 300 },
        ],
        working: 1,
        failures: [],
      },
    });
    expect(left).toEqual([
      "label tier",
      "condition RaidDegraded",
      "resource example.com/a",
      "resource example.com/b",
      "address 10.0.0.1",
    ]);
    expect(draft).toEqual({
      metadata: { name: NAME, labels: {}, annotations: {} },
      spec: {},
      status: { conditions: [], capacity: {}, allocatable: {}, addresses: [] },
    });
  });
});

it("an extended resource that the report does not change, and hardware that changes → nothing is refused", () => {
  const before: Node = { metadata: {}, status: { capacity: { "example.com/a": "1", memory: "1Ki" } } };
  const draft: DraftNode = {
    ...sparse(),
    status: { capacity: { "example.com/a": "1", memory: "2Ki" } },
  };
  expect(limited(before, structuredClone(draft))).toEqual({ left: [], draft });
});
