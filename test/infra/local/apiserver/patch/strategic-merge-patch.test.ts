import { describe, expect, it } from "vitest";
import { nodeSchema } from "../../../../../shared/kubernetes/patch/node-schema.ts";
import type { JsonObject } from "../../../../../shared/kubernetes/json.ts";
import type { PatchSchema } from "../../../../../shared/kubernetes/patch/schema.ts";
import { success } from "../../../../../shared/result.ts";
import { eventSchema, leaseSchema } from "../../../../../shared/kubernetes/patch/object-schemas.ts";
import { patchSchemaOf } from "../../../../../infra/local/apiserver/kinds/patch-schema.ts";
import { applyStrategicMergePatch } from "../../../../../infra/local/apiserver/patch/strategic-merge-patch.ts";
import { findResourceType } from "../../../../../infra/local/apiserver/resources.ts";

const namespaceSchema = patchSchemaOf(
  findResourceType({ group: "", version: "v1", resource: "namespaces" })!,
);

interface Example {
  situation: string;
  schema: PatchSchema;
  original: JsonObject;
  patch: JsonObject;
  result: JsonObject;
}

const examples: Example[] = [
  {
    situation: "a lease: fields are replaced one by one",
    schema: leaseSchema,
    original: { spec: { holderIdentity: "a", renewTime: "t1" } },
    patch: { spec: { renewTime: "t2" } },
    result: { spec: { holderIdentity: "a", renewTime: "t2" } },
  },
  {
    situation: "an event: the object it is about is merged",
    schema: eventSchema,
    original: { involvedObject: { kind: "Node", name: "a" }, count: 1 },
    patch: { involvedObject: { uid: "u" }, count: 2 },
    result: { involvedObject: { kind: "Node", name: "a", uid: "u" }, count: 2 },
  },
  {
    situation: "a namespace: conditions merge by type, spec.finalizers are replaced",
    schema: namespaceSchema,
    original: {
      spec: { finalizers: ["kubernetes"] },
      status: { conditions: [{ type: "A", status: "True" }] },
    },
    patch: { spec: { finalizers: ["x"] }, status: { conditions: [{ type: "A", reason: "R" }] } },
    result: {
      spec: { finalizers: ["x"] },
      status: { conditions: [{ type: "A", status: "True", reason: "R" }] },
    },
  },
  {
    situation: "metadata of any kind: owners merge by uid, finalizers are a set",
    schema: namespaceSchema,
    original: { metadata: { ownerReferences: [{ uid: "1", name: "a" }], finalizers: ["a", "b"] } },
    patch: { metadata: { ownerReferences: [{ uid: "2", name: "b" }], finalizers: ["b", "c"] } },
    result: {
      metadata: {
        ownerReferences: [
          { uid: "2", name: "b" },
          { uid: "1", name: "a" },
        ],
        finalizers: ["a", "b", "c"],
      },
    },
  },
  {
    situation: "a key that every JavaScript object inherits is a key like any other",
    schema: nodeSchema,
    original: { metadata: { labels: {} } },
    patch: { metadata: { labels: { constructor: "x", toString: "y" } } },
    result: { metadata: { labels: { constructor: "x", toString: "y" } } },
  },
];

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

describe("applyStrategicMergePatch", () => {
  it.each(examples)("$situation", ({ schema, original, patch, result }) => {
    expect(applyStrategicMergePatch(deepFreeze(original), deepFreeze(patch), schema)).toEqual(
      success(result),
    );
  });

  it("shares with the original what the patch leaves alone", () => {
    const original = { metadata: { labels: { a: "1" } }, status: { images: [{ names: ["x"] }], phase: "" } };
    const applied = applyStrategicMergePatch(original, { status: { phase: "Running" } }, nodeSchema);
    expect(applied).toMatchObject(success({ status: { phase: "Running" } }));
    expect(applied.ok && applied.value.metadata).toBe(original.metadata);
  });
});
