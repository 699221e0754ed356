// Tests which machines' reports do not count, and what a view shows of such a machine's conditions.
import { expect, it, test } from "vitest";
import { asUnknown, UNREADY, unreadyOf } from "../../../shared/fleet/unready.ts";

test.each([
  ["its reports count", { isRevoked: false, phase: "registered" }, null],
  ["it has not reported", { isRevoked: false, phase: null }, null],
  ["one of two shims is trusted", { isRevoked: false, phase: "two shims" }, null],
  ["clones report", { isRevoked: false, phase: "cloned" }, UNREADY.cloned],
  ["its key is revoked", { isRevoked: true, phase: "registered" }, UNREADY.revoked],
  ["its key is revoked, because of a clone", { isRevoked: true, phase: "cloned" }, UNREADY.revoked],
  ["it is being removed", { isRevoked: true, isLeaving: true, phase: "registered" }, UNREADY.removed],
] as const)("%s", (_, machine, unready) => {
  expect(unreadyOf({ isLeaving: false, ...machine })).toBe(unready);
});

it("conditions of the last report → Unknown since then; Ready has our words, others quote the report, maintenance stays", () => {
  const before = [
    { type: "MemoryPressure", status: "True", reason: "KubeletHasInsufficientMemory", message: "no memory" },
    { type: "RaidDegraded", status: "False" },
    { type: "MaintenanceInProgress", status: "True" },
    { type: "Ready", status: "True", reason: "KubeletReady", message: "posting" },
  ];
  const { reason, message } = UNREADY.cloned;
  const now = { status: "Unknown", reason, lastTransitionTime: "1970-01-01T00:00:01.000Z" };
  expect(asUnknown(before, UNREADY.cloned, 1000)).toEqual([
    { type: "MemoryPressure", ...now, message: "True in its last report: no memory" },
    { type: "RaidDegraded", ...now, message: "False in its last report" },
    { type: "MaintenanceInProgress", status: "True" },
    { type: "Ready", ...now, message },
  ]);
});
