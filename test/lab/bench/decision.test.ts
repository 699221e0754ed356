// Tests that the decision benchmarks measure what their names promise: no report changes the Node in one, memory
// pressure alternates in the other.
import { expect, test } from "vitest";
import { createNodeStatusPatch } from "../../../shared/kubernetes/patch/node-status-patch.ts";
import { assertDecisions, changedReports, decide, unchangedReports } from "./decision.ts";
import { machineFacts } from "./machine.ts";

const reports = { unchanged: unchangedReports(machineFacts()), changed: changedReports(machineFacts()) };

test("unchanged → no report causes a write; 60 images are reported, 50 kept with five names each", () => {
  assertDecisions(reports.unchanged, false);
  const { facts, original } = reports.unchanged(0);
  expect(facts.images).toHaveLength(60);
  expect(original.status?.images).toHaveLength(50);
  expect(original.status?.images?.every(({ names }) => names?.length === 5)).toBe(true);
  expect(original.status?.capacity).toHaveProperty("hugepages-2Mi", "8Mi");
});

test("changed → memory alternates between short and sufficient, and the patch has that", () => {
  assertDecisions(reports.changed, true);
  for (const [run, status] of [
    [0, "True"],
    [1, "False"],
  ] as const) {
    const reported = reports.changed(run);
    const patch = createNodeStatusPatch(reported.original, decide(reported).node);
    expect(patch).toMatchObject({
      ok: true,
      value: {
        status: {
          conditions: expect.arrayContaining([expect.objectContaining({ type: "MemoryPressure", status })]),
        },
      },
    });
  }
});

test("each report consists of new objects, with the same facts and the same Node", () => {
  const [one, other] = [reports.unchanged(0), reports.unchanged(64)];
  expect(one.vitals).toEqual(other.vitals);
  expect(one.vitals).not.toBe(other.vitals);
  expect(one.memory).not.toBe(other.memory);
  expect(one.facts).toBe(other.facts);
  expect(one.original).toBe(other.original);
});
