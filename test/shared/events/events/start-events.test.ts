import { expect, test } from "vitest";
import { startEvents } from "../../../../shared/events/events.ts";

test.each([
  ["cgroup v2", { cpuHardcapping: true, version: 2 as const }, ["Normal Starting"]],
  ["cgroup v1", { cpuHardcapping: true, version: 1 as const }, ["Normal Starting", "Warning CgroupV1"]],
  ["an older shim, which does not say", { cpuHardcapping: true }, ["Normal Starting"]],
  ["nobody knows", undefined, ["Normal Starting"]],
])("a start on %s → %j", (_, cgroups, events) => {
  expect(startEvents({ cgroups }).map(({ type, reason }) => `${type} ${reason}`)).toEqual(events);
});

test("the words are those that tools know, but for the kubelet's name", () => {
  const [starting, onCgroupV1] = startEvents({ cgroups: { cpuHardcapping: true, version: 1 } });
  expect(starting?.message).toBe("Starting node-shim.");
  expect(onCgroupV1?.message).toMatch(/^cgroup v1 detected\. .*5573-remove-cgroup-v1$/);
});
