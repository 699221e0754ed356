import { describe, expect, it } from "vitest";
import { createStrategicMergePatch } from "../../../../shared/kubernetes/patch/create-patch.ts";
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../../../shared/kubernetes/patch/node-schema.ts";
import { failure, success } from "../../../../shared/result.ts";

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
      situation: "an empty text, number or list that Go leaves out is absent, whether it is there or not",
      original: {
        metadata: { labels: {} },
        status: { phase: "", images: [{ names: ["a"], sizeBytes: 0 }] },
      },
      modified: { metadata: { labels: { a: "" } }, status: { images: [{ names: ["a"] }] } },
      outcome: success({ metadata: { labels: { a: "" } } }),
    },
    {
      situation: "an item of a list is written as Go writes it",
      original: { status: { conditions: [{ type: "Ready", reason: "Known", message: "was" }] } },
      modified: {
        status: {
          conditions: [
            { type: "Licensed", status: "", reason: "", message: "" },
            { type: "Ready", reason: "Known", message: "" },
          ],
          images: [{ names: [], sizeBytes: 0 }],
        },
      },
      outcome: success({
        status: {
          "$setElementOrder/conditions": [{ type: "Licensed" }, { type: "Ready" }],
          conditions: [
            { type: "Licensed", status: "" },
            { type: "Ready", message: null },
          ],
          images: [{ names: [] }],
        },
      }),
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

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
