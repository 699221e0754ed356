import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { NodeStatus } from "../../../../shared/kubernetes/types.ts";
import { nodeStatusHasChanged } from "../../../../shared/node/update-node.ts";

const text = fc.constantFrom("", "a", "b");
const time = fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z");
const resources = fc.dictionary(
  fc.constantFrom("cpu", "memory", "example.com/gpu"),
  fc.constantFrom("1", "1000m", "2Gi"),
);
const flag = fc.boolean();
const some = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });

const fields = {
  capacity: resources,
  allocatable: resources,
  phase: text,
  conditions: some(
    fc.record({
      type: text,
      status: text,
      reason: text,
      message: text,
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    }),
  ),
  addresses: some(fc.record({ type: text, address: text })),
  daemonEndpoints: fc.record({ kubeletEndpoint: fc.record({ Port: fc.nat(2) }) }),
  images: some(fc.record({ names: some(text), sizeBytes: fc.nat(2) })),
  volumesInUse: some(text),
  volumesAttached: some(fc.record({ name: text, devicePath: text })),
  config: fc.record({
    error: text,
    assigned: fc.record({ configMap: fc.record({ name: text, namespace: text, kubeletConfigKey: text }) }),
  }),
  runtimeHandlers: some(fc.record({ name: text, features: fc.record({ userNamespaces: flag }) })),
  features: fc.record({ supplementalGroupsPolicy: flag }),
  declaredFeatures: some(text),
} satisfies { [Field in keyof NodeStatus]: fc.Arbitrary<NodeStatus[Field]> };
const status: fc.Arbitrary<NodeStatus> = fc.record(fields, { requiredKeys: [] });

test("a status has not changed from itself, nor from an equal one, whatever it holds", () => {
  fc.assert(
    fc.property(status, (original) => {
      expect(nodeStatusHasChanged(original, original)).toBe(false);
      expect(nodeStatusHasChanged(original, structuredClone(original))).toBe(false);
    }),
  );
});

test("a change counts in both directions", () => {
  fc.assert(
    fc.property(status, status, (a, b) => {
      expect(nodeStatusHasChanged(a, b)).toBe(nodeStatusHasChanged(b, a));
    }),
  );
});

test("neither heartbeat times nor the order of conditions of different types are a change", () => {
  const conditions = fc.uniqueArray(
    fields.conditions.map(([first]) => first ?? { type: "", status: "" }),
    {
      selector: ({ type }) => type,
    },
  );
  fc.assert(
    fc.property(conditions, time, (original, lastHeartbeatTime) => {
      const current = original.toReversed().map((condition) => ({ ...condition, lastHeartbeatTime }));
      expect(nodeStatusHasChanged({ conditions: original }, { conditions: current })).toBe(false);
    }),
  );
});

test.each([
  ["the same instant in another zone", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", false],
  ["the same instant with a fraction of zero", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z", false],
  ["a nanosecond later", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", true],
  ["less than a nanosecond later", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.0000000009Z", false],
])("transition time, %s → changed: %j", (_, before, after, changed) => {
  const at = (lastTransitionTime: string): NodeStatus => ({
    conditions: [{ type: "A", status: "True", lastTransitionTime }],
  });
  expect(nodeStatusHasChanged(at(before), at(after))).toBe(changed);
});
