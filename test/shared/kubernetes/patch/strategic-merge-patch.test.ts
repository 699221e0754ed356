import { describe, expect, it } from "vitest";
import { createStrategicMergePatch } from "../../../../shared/kubernetes/patch/create-patch.ts";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../../../shared/kubernetes/patch/node-schema.ts";
import {
  eventSchema,
  eventsV1EventSchema,
  leaseSchema,
  namespaceSchema,
} from "../../../../shared/kubernetes/patch/object-schemas.ts";
import type { PatchSchema } from "../../../../shared/kubernetes/patch/schema.ts";
import { applyStrategicMergePatch } from "../../../../shared/kubernetes/patch/strategic-merge-patch.ts";
import { failure, success } from "../../../../shared/result.ts";

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
    situation: "an event of events.k8s.io: so is its series",
    schema: eventsV1EventSchema,
    original: { series: { count: 2, lastObservedTime: "t1" } },
    patch: { series: { count: 3 } },
    result: { series: { count: 3, lastObservedTime: "t1" } },
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

describe("createStrategicMergePatch", () => {
  const unknown = (value: number): JsonObject => ({ status: { newInNextRelease: { value } } });

  it.each<{ situation: string; original: JsonObject; modified: JsonObject; outcome: object }>([
    {
      situation: "a list that is empty, or null, is absent",
      original: { status: { conditions: [], images: null, volumesInUse: ["a"] } },
      modified: { status: { volumesInUse: [] } },
      outcome: success({ status: { volumesInUse: null } }),
    },
    {
      situation: "an undefined field is absent",
      original: { status: { phase: "Running", config: undefined } },
      modified: { status: { phase: undefined } },
      outcome: success({ status: { phase: null } }),
    },
    {
      situation: "a quantity in another notation is no change",
      original: { status: { capacity: { memory: "1Gi", cpu: "1" } } },
      modified: { status: { capacity: { memory: "1024Mi", cpu: "1500m" } } },
      outcome: success({ status: { capacity: { cpu: "1500m" } } }),
    },
    {
      situation: "a status that is new is written as Go writes it",
      original: {},
      modified: { status: { capacity: { cpu: "1000m" }, images: [], phase: "Running" } },
      outcome: success({ status: { capacity: { cpu: "1" }, phase: "Running" } }),
    },
    {
      situation: "a field that the type does not have and that stays as it is",
      original: unknown(1),
      modified: unknown(1),
      outcome: success({}),
    },
    {
      situation: "a field that the type does not have and that changes is an error",
      original: unknown(1),
      modified: unknown(2),
      outcome: failure('unable to find api field in struct NodeStatus for the json field "newInNextRelease"'),
    },
    {
      situation: "finalizers that are not sorted get their order sent, changed or not, as upstream does",
      original: { metadata: { finalizers: ["b", "a"] } },
      modified: { metadata: { finalizers: ["b", "a"] } },
      outcome: success({ metadata: { "$setElementOrder/finalizers": ["b", "a"] } }),
    },
    {
      situation: "a condition without a type is an error",
      original: { status: { conditions: [{ type: "Ready" }] } },
      modified: { status: { conditions: [{ status: "True" }] } },
      outcome: failure('map: {"status":"True"} does not contain declared merge key: type'),
    },
  ])("$situation", ({ original, modified, outcome }) => {
    expect(createStrategicMergePatch(deepFreeze(original), deepFreeze(modified), nodeSchema)).toEqual(
      outcome,
    );
  });
});
