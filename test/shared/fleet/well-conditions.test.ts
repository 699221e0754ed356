import { expect, it, test } from "vitest";
import { hasWrongCondition, isWell, wrongConditions } from "../../../shared/fleet/well-conditions.ts";

test.each([
  ["Ready", "True", true],
  ["Ready", "False", false],
  ["Ready", "Unknown", false],
  ["DiskPressure", "False", true],
  ["DiskPressure", "True", false],
  ["FanBroken", "True", false],
  ["FanBroken", "Unknown", false],
  ["toString", "False", true],
  ["MaintenanceInProgress", "True", true],
  ["Drained", "Unknown", true],
  ["GracefulNodeShutdownInProgress", "True", true],
])("%s=%s → well: %s", (type, status, expected) => {
  expect(isWell({ type, status })).toBe(expected);
});

it.each<[Record<string, string>, string]>([
  [{}, ""],
  [{ Ready: "True", MemoryPressure: "False" }, ""],
  [{ Ready: "True", DrainInProgress: "True", MaintenancePlanned: "True" }, ""],
  [{ MemoryPressure: "True", Ready: "False" }, "Ready MemoryPressure"],
  [{ RaidDegraded: "Unknown", MemoryPressure: "True", Ready: "True" }, "MemoryPressure RaidDegraded"],
])("%j → wrong: %s", (conditions, types) => {
  expect(
    wrongConditions(conditions)
      .map(({ type }) => type)
      .join(" "),
  ).toBe(types);
  expect(hasWrongCondition(conditions)).toBe(types !== "");
});
