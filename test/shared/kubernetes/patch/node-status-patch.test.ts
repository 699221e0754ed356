import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../../../shared/kubernetes/patch/node-schema.ts";
import { createNodeStatusPatch } from "../../../../shared/kubernetes/patch/node-status-patch.ts";
import { applyStrategicMergePatch } from "../../../../infra/local/apiserver/patch/strategic-merge-patch.ts";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { wireForm } from "../../../../shared/kubernetes/patch/wire-form.ts";

const time = fc.constantFrom("2026-03-14T15:09:26Z", "2026-03-14T15:09:36Z");
const maybe = <T>(key: string, value: fc.Arbitrary<T>) =>
  fc.option(value, { nil: undefined }).map((some) => (some === undefined ? {} : { [key]: some }));

const condition = fc
  .tuple(
    fc.record({
      type: fc.constantFrom("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "Licensed"),
      status: fc.constantFrom("True", "False", "Unknown"),
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    }),
    maybe("reason", fc.constantFrom("A", "B")),
  )
  .map(([condition, reason]) => ({ ...condition, ...reason }));

const quantities = fc.dictionary(
  fc.constantFrom("cpu", "memory", "pods", "example.com/gpu"),
  fc.constantFrom("1", "2", "110", "1Gi", "500m"),
  { minKeys: 1 },
);
const text = fc.constantFrom("a", "b", "c");
const words = fc.dictionary(text, text, { minKeys: 1 });
const uniqueBy = <T>(item: fc.Arbitrary<T>, selector: (item: T) => unknown) =>
  fc.uniqueArray(item, { selector, minLength: 1, maxLength: 5 });

const object = (...fields: fc.Arbitrary<object>[]) =>
  fc.tuple(...fields).map((parts): Record<string, unknown> => Object.assign({}, ...parts));

/** Finalizers are a set, sorted here because upstream does not send a changed order if the new list is sorted. */
const finalizers = uniqueBy(text, (finalizer) => finalizer).map((list) => list.toSorted());
const metadata = object(
  fc.constant({ name: "node-1" }),
  maybe("labels", words),
  maybe("annotations", words),
  maybe("finalizers", finalizers),
  maybe(
    "ownerReferences",
    uniqueBy(fc.record({ kind: text, name: text, uid: text }), ({ uid }) => uid),
  ),
);
/**
 * Addresses are grouped by type, as in a valid Node. Replacing the list groups them, also in the real apiserver.
 */
const addresses = fc
  .array(fc.record({ type: text, address: text }), { minLength: 1, maxLength: 4 })
  .map((list) => list.toSorted((a, b) => a.type.localeCompare(b.type)));
const status = object(
  maybe("capacity", quantities),
  maybe("allocatable", quantities),
  maybe(
    "conditions",
    uniqueBy(condition, ({ type }) => type),
  ),
  maybe("addresses", addresses),
  maybe("images", fc.array(fc.record({ names: fc.array(text), sizeBytes: fc.nat() }), { minLength: 1 })),
  maybe("volumesInUse", fc.array(text, { minLength: 1, maxLength: 3 })),
  maybe("features", fc.record({ supplementalGroupsPolicy: fc.boolean() })),
  maybe("nodeInfo", object(maybe("bootID", text), maybe("swap", fc.record({ capacity: fc.nat() })))),
);
const spec = object(
  maybe("unschedulable", fc.constant(true)),
  maybe(
    "podCIDRs",
    uniqueBy(text, (cidr) => cidr),
  ),
);

function patched(oldNode: Node, newNode: Node): JsonObject {
  const patch = createNodeStatusPatch(oldNode, newNode);
  if (!patch.ok) throw new Error(patch.error);
  const applied = applyStrategicMergePatch({ ...oldNode }, patch.value, nodeSchema);
  if (!applied.ok) throw new Error(applied.error);
  return applied.value;
}

describe("createNodeStatusPatch", () => {
  it("applied to the old Node gives the new one, for any two valid Nodes of equal spec", () => {
    fc.assert(
      fc.property(
        spec,
        metadata,
        status,
        metadata,
        status,
        (spec, oldMetadata, oldStatus, metadata, status) => {
          const newNode = { metadata, spec, status };
          const result = patched({ metadata: oldMetadata, spec, status: oldStatus }, newNode);
          // If all addresses are removed, the patch leaves an empty list, which JSON omits.
          expect(wireForm(result, nodeSchema)).toEqual(wireForm(newNode as JsonObject, nodeSchema));
        },
      ),
    );
  });

  it("changes neither Node, however the patch is applied", () => {
    fc.assert(
      fc.property(metadata, status, metadata, status, (oldMetadata, oldStatus, metadata, status) => {
        const nodes = [
          { metadata: oldMetadata, status: oldStatus },
          { metadata, status },
        ] as const;
        const before = structuredClone(nodes);
        patched(...nodes);
        expect(nodes).toEqual(before);
      }),
    );
  });
});
