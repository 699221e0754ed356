// Tests that messages for people use the word machine, and that values for programs stay the kubelet's.
import { expect, it, test } from "vitest";
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import { diskPressureCondition } from "../../../shared/setters/disk-pressure.ts";
import { inMachineWords, KUBELET_WORDS, machineWords } from "../../../shared/setters/machine-words.ts";
import { memoryPressureCondition } from "../../../shared/setters/memory-pressure.ts";
import { pidPressureCondition } from "../../../shared/setters/pid-pressure.ts";
import { readyCondition } from "../../../shared/setters/ready.ts";
import type { Setter } from "../../../shared/setters/setter.ts";

const NOW = "2026-01-01T00:00:00Z";
const capacity = { cpu: "1", memory: "1", pods: "1" };

function conditionAfter(...setters: Setter[]): NodeCondition | undefined {
  const node = { metadata: {}, spec: {}, status: { capacity } as { conditions?: NodeCondition[] } };
  for (const setter of setters) setter(node);
  return node.status.conditions?.[0];
}

const nothing = () => undefined;
const ready = (soft: string | null, error: string | null = null) =>
  readyCondition(
    NOW,
    () => error,
    () => null,
    () => null,
    () => soft,
    () => null,
    nothing,
    false,
  );

test.each<[upstream: string, setter: Setter, ours: string]>([
  ["Ready", ready(null), "machine is posting ready status"],
  [
    "Ready with a warning",
    ready("CPU hardcapping unsupported"),
    "machine is posting ready status. WARNING: CPU hardcapping unsupported",
  ],
  ["memory", memoryPressureCondition(NOW, () => false, nothing), "machine has sufficient memory available"],
  [
    "little memory",
    memoryPressureCondition(NOW, () => true, nothing),
    "machine has insufficient memory available",
  ],
  ["disk", diskPressureCondition(NOW, () => false, nothing), "machine has no disk pressure"],
  ["a full disk", diskPressureCondition(NOW, () => true, nothing), "machine has disk pressure"],
  ["PIDs", pidPressureCondition(NOW, () => false, nothing), "machine has sufficient PID available"],
  ["few PIDs", pidPressureCondition(NOW, () => true, nothing), "machine has insufficient PID available"],
])("%s → the message uses the word machine, all else is upstream's", (_, setter, ours) => {
  const [upstream, after] = [conditionAfter(setter), conditionAfter(setter, machineWords)];
  expect(after).toEqual({ ...upstream, message: ours });
  expect(upstream?.message).not.toBe(ours);
});

test.each<[situation: string, condition: NodeCondition]>([
  [
    "an error that mentions a kubelet",
    { type: "Ready", status: "False", message: "container runtime is down" },
  ],
  ["a condition of somebody else's", { type: "Other", status: "True", message: "kubelet has disk pressure" }],
  ["no message", { type: "Ready", status: "True" }],
])("%s → stays, and nothing is allocated", (_, condition) => {
  const conditions = [condition];
  const node = { metadata: {}, spec: {}, status: { conditions } };
  expect(machineWords(node)).toBeNull();
  expect(node.status.conditions).toBe(conditions);
});

it("no conditions → none", () => {
  const node = { metadata: {}, spec: {}, status: {} };
  expect(machineWords(node)).toBeNull();
  expect(node.status).toEqual({});
});

it("a second run changes no message: none of our phrases contains one of upstream's", () => {
  for (const [type, messages] of Object.entries(KUBELET_WORDS)) {
    for (const message of messages) {
      const ours = inMachineWords(type, message);
      expect(ours).not.toBe(message);
      expect(inMachineWords(type, ours)).toBe(ours);
    }
  }
});
