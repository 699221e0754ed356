// Tests which taints a Node keeps: taints of machine and token, and taints of other writers.
import { describe, expect, test } from "vitest";
import type { NodeSpec, Taint } from "../../../shared/kubernetes/types.ts";
import { type AskedTaints, askedTaints, everAsked, keepOthersMarks } from "../../../shared/node/taints.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";

describe("the taints that machine and token set", () => {
  const taint = (key: string, value?: string): Taint => ({
    key,
    ...(value !== undefined && { value }),
    effect: "NoSchedule",
  });
  const [A, B, OTHERS] = [taint("a"), taint("b", "1"), taint("others")];
  const nodeWith = (...taints: Taint[]) => ({ spec: { taints } });
  const STAY = "the taints of the Node stay: ";

  interface Situation {
    name: string;
    before?: AskedTaints;
    said: Taint[];
    /** The taints of the existing Node; absent if the Node was created. */
    found?: Taint[];
    taints: AskedTaints;
    notice?: string;
  }

  const situations: Situation[] = [
    { name: "a Node that was created", said: [A], taints: { taints: [A] } },
    {
      name: "a Node that was created again",
      before: { taints: [A], formerTaints: [B] },
      said: [B],
      taints: { taints: [B] },
    },
    { name: "a Node without a record", said: [A], found: [], taints: { taints: [A] } },
    { name: "the same is reported", before: { taints: [A] }, said: [A], found: [A], taints: { taints: [A] } },
    {
      name: "the same is reported, and an operator has removed it",
      before: { taints: [A] },
      said: [A],
      found: [OTHERS],
      taints: { taints: [A] },
    },
    {
      name: "one more is reported",
      before: { taints: [A] },
      said: [A, B],
      found: [A],
      taints: { taints: [A, B] },
      notice: `${STAY}it does not get b=1:NoSchedule`,
    },
    {
      name: "one less is reported",
      before: { taints: [A, B] },
      said: [A],
      found: [A, B, OTHERS],
      taints: { taints: [A], formerTaints: [B] },
      notice: `${STAY}it keeps b=1:NoSchedule`,
    },
    {
      name: "another one is reported",
      before: { taints: [A] },
      said: [B],
      found: [A],
      taints: { taints: [B], formerTaints: [A] },
      notice: `${STAY}it does not get b=1:NoSchedule, it keeps a:NoSchedule`,
    },
    {
      name: "a removed one is reported again",
      before: { taints: [B], formerTaints: [A] },
      said: [B],
      found: [A],
      taints: { taints: [B], formerTaints: [A] },
    },
    {
      name: "one that the Node has is reported again",
      before: { taints: [B], formerTaints: [A] },
      said: [A],
      found: [A],
      taints: { taints: [A] },
    },
    {
      name: "another value is reported",
      before: { taints: [taint("b", "0")] },
      said: [B],
      found: [taint("b", "0")],
      taints: { taints: [B] },
      notice: `${STAY}it does not get b=1:NoSchedule`,
    },
    {
      name: "one more is reported, which an operator has set already",
      before: { taints: [A] },
      said: [A, B],
      found: [A, B],
      taints: { taints: [A, B] },
    },
    {
      name: "one less is reported, which an operator has removed already",
      before: { taints: [A, B] },
      said: [A],
      found: [A],
      taints: { taints: [A] },
    },
  ];

  describe("the taints of an existing Node", () => {
    test.each(situations)("$name", ({ before, said, found, taints, notice = null }) => {
      expect(askedTaints(before, said, found ? nodeWith(...found) : null)).toEqual({ taints, notice });
    });
  });

  test("all taints that were ever reported of a Node", () => {
    expect(everAsked({ taints: [B], formerTaints: [A] })).toEqual([B, A]);
    expect(everAsked(undefined)).toEqual([]);
  });
});

describe("taints and cordons of other writers on a Node that is created again", () => {
  const OWN: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
  const BROKEN: Taint = { key: "example.com/broken", value: "disk", effect: "NoSchedule" };
  const taint = (key: string): Taint => ({ key, effect: "NoExecute" });

  test.each<[situation: string, last: NodeSpec | undefined, kept: NodeSpec]>([
    ["nothing", {}, { taints: [OWN] }],
    ["no spec at all", undefined, { taints: [OWN] }],
    ["a cordon", { unschedulable: true }, { taints: [OWN], unschedulable: true }],
    ["a cordon that was removed", { unschedulable: false }, { taints: [OWN] }],
    ["a taint", { taints: [BROKEN] }, { taints: [OWN, BROKEN] }],
    [
      "a taint that the machine sets, with another value",
      { taints: [{ ...OWN, value: "x" }] },
      { taints: [OWN] },
    ],
    [
      "its key with another effect",
      { taints: [{ ...OWN, effect: "NoExecute" }] },
      { taints: [OWN, { ...OWN, effect: "NoExecute" }] },
    ],
    [
      "taints that controllers set by conditions",
      {
        taints: [
          taint("node.kubernetes.io/not-ready"),
          taint("node.kubernetes.io/unreachable"),
          taint("node.kubernetes.io/memory-pressure"),
          taint("node.kubernetes.io/disk-pressure"),
          taint("node.kubernetes.io/pid-pressure"),
          taint("node.kubernetes.io/network-unavailable"),
          taint("node.cloudprovider.kubernetes.io/shutdown"),
        ],
      },
      { taints: [OWN] },
    ],
    [
      "a taint of an operator that looks like one of those",
      { taints: [taint("node.kubernetes.io/out-of-service")] },
      { taints: [OWN, taint("node.kubernetes.io/out-of-service")] },
    ],
    [
      "fields that other writers do not keep",
      { providerID: "aws:///a/i-1", podCIDR: "10.0.0.0/24" },
      { taints: [OWN] },
    ],
  ])("%s", (_, last, kept) => {
    const node: DraftNode = { metadata: {}, spec: { taints: [OWN] }, status: {} };
    keepOthersMarks(node, last === undefined ? {} : { spec: last }, []);
    expect(node.spec).toEqual(kept);
  });

  test("of a Node that now registers without rollcall's taint, and has no other ones", () => {
    const node: DraftNode = { metadata: {}, spec: {}, status: {} };
    keepOthersMarks(node, { spec: { taints: [OWN, BROKEN] } }, []);
    expect(node.spec).toEqual({ taints: [BROKEN] });
  });
});
