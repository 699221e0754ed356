// What others had set on a Node that is created again.
import { expect, test } from "vitest";
import type { NodeSpec, Taint } from "../../../../shared/kubernetes/types.ts";
import { keepOthersMarks } from "../../../../shared/node/taints.ts";
import type { DraftNode } from "../../../../shared/setters/setter.ts";

const OWN: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
const BROKEN: Taint = { key: "example.com/broken", value: "disk", effect: "NoSchedule" };
const taint = (key: string): Taint => ({ key, effect: "NoExecute" });

test.each<[situation: string, last: NodeSpec | undefined, kept: NodeSpec]>([
  ["nothing", {}, { taints: [OWN] }],
  ["no spec at all", undefined, { taints: [OWN] }],
  ["a cordon", { unschedulable: true }, { taints: [OWN], unschedulable: true }],
  ["a cordon that was taken back", { unschedulable: false }, { taints: [OWN] }],
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
    "what controllers set as conditions are",
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
    "what a person set that looks like it",
    { taints: [taint("node.kubernetes.io/out-of-service")] },
    { taints: [OWN, taint("node.kubernetes.io/out-of-service")] },
  ],
  ["what is not others' to keep", { providerID: "aws:///a/i-1", podCIDR: "10.0.0.0/24" }, { taints: [OWN] }],
])("%s", (_, last, kept) => {
  const node: DraftNode = { metadata: {}, spec: { taints: [OWN] }, status: {} };
  keepOthersMarks(node, last === undefined ? {} : { spec: last }, []);
  expect(node.spec).toEqual(kept);
});

test("of a Node that is registered without rollcall's taint by now, without others of its own", () => {
  const node: DraftNode = { metadata: {}, spec: {}, status: {} };
  keepOthersMarks(node, { spec: { taints: [OWN, BROKEN] } }, []);
  expect(node.spec).toEqual({ taints: [BROKEN] });
});
