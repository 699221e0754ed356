import { describe, expect, test } from "vitest";
import { setCondition } from "../../../shared/kubernetes/conditions.ts";
import type { NodeCondition, NodeStatus } from "../../../shared/kubernetes/types.ts";

const BEFORE = "2026-01-01T00:00:00Z";
const NOW = "2026-01-01T00:00:10Z";

const old = (type: string, status = "False"): NodeCondition => ({
  type,
  status,
  reason: "Old",
  message: "old",
  lastHeartbeatTime: BEFORE,
  lastTransitionTime: BEFORE,
});
const report = { type: "Mine", status: "True", reason: "New", message: "new" } as const;

describe("the place of a condition", () => {
  test.each([
    ["into an empty list", [], ["Mine"]],
    ["before Ready", ["DiskPressure", "Ready"], ["DiskPressure", "Mine", "Ready"]],
    ["before a Ready that is not the last one", ["Ready", "Other"], ["Mine", "Ready", "Other"]],
    ["at the end where there is no Ready", ["DiskPressure"], ["DiskPressure", "Mine"]],
    ["where it was", ["Mine", "DiskPressure", "Ready"], ["Mine", "DiskPressure", "Ready"]],
    ["where it was, without Ready", ["Mine", "DiskPressure"], ["Mine", "DiskPressure"]],
    [
      "before Ready, if it stood after it",
      ["DiskPressure", "Ready", "Mine"],
      ["DiskPressure", "Mine", "Ready"],
    ],
  ])("%s", (_, types, expected) => {
    const status: NodeStatus = { conditions: types.map((type) => old(type)) };
    setCondition(status, NOW, report);
    expect(status.conditions?.map(({ type }) => type)).toEqual(expected);
  });
});

describe("the times of a condition", () => {
  test.each([
    ["a new one has its transition now, which is no change of status", undefined, NOW, false],
    ["the same status keeps its transition time", old("Mine", "True"), BEFORE, false],
    ["another status changes at this moment", old("Mine", "False"), NOW, true],
  ])("%s", (_, previous, lastTransitionTime, changed) => {
    const status: NodeStatus = previous ? { conditions: [previous] } : {};
    expect(setCondition(status, NOW, report)).toBe(changed);
    expect(status.conditions).toEqual([{ ...report, lastHeartbeatTime: NOW, lastTransitionTime }]);
  });

  test("the former list stays unchanged", () => {
    const conditions = [old("Mine"), old("Ready")];
    setCondition({ conditions }, NOW, report);
    expect(conditions).toEqual([old("Mine"), old("Ready")]);
  });
});
