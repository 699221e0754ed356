// Tests the allocatable resources that a kubelet would set, for a Node that runs no pods.
import { expect, test } from "vitest";
import { kubeletsAllocatable } from "../../../shared/from-report/reported-node.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { facts, HEALTHY } from "../../worker/support/facts.ts";

const GPU = "example.com/gpu";
const WITH_GPU: Partial<Facts> = {
  dropIns: { resources: { [GPU]: 2 }, labels: {}, conditions: [], working: 1, failures: [] },
};

test.each<
  [situation: string, more: Partial<Facts>, capacity: Record<string, string>, gpu: string | undefined]
>([
  ["a resource of a drop-in → its amount", WITH_GPU, { cpu: "4", [GPU]: "2" }, "2"],
  ["one that its join token does not allow → none, like its capacity", WITH_GPU, { cpu: "4" }, undefined],
  ["one that another writer announces → its amount", {}, { cpu: "4", [GPU]: "3" }, "3"],
])("%s", (_, more, capacity, gpu) => {
  const allocatable = Object.fromEntries(Object.keys(capacity).map((name) => [name, "0"]));
  const reported = { name: "edge-7", facts: facts("edge-7", more), vitals: HEALTHY, nowMs: 0 };
  const found = kubeletsAllocatable(reported, { status: { capacity, allocatable } });
  expect(found).toMatchObject({ cpu: "4" });
  expect(found?.[GPU]).toBe(gpu);
});
