// Tests that no object and no patch for the apiserver has a field that Go would omit. A recording of Go's JSON has
// the expected results.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type Json, type JsonObject } from "../../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import { eventSchema, leaseSchema } from "../../../shared/kubernetes/patch/object-schemas.ts";
import type { PatchSchema, StructSchema } from "../../../shared/kubernetes/patch/schema.ts";
import type { Event, Lease, Node } from "../../../shared/kubernetes/types.ts";
import { type KubeClient, kubeClient } from "../../../worker/kube/kube-client.ts";
import recorded from "../../vectors/emptyFields.json";

const leftOutByGo = new Map(
  recorded.cases.map(({ given, want }): [string, string[]] => [
    `${given.type} ${given.field}`,
    (want.leftOut as Json[]).map((value) => JSON.stringify(value)),
  ]),
);

/**
 * Returns the paths of fields that Go would omit. `isPatch`: true if null is allowed, because it removes a field.
 */
function emptyFieldsIn(value: Json, schema: PatchSchema, isPatch: boolean, path = ""): string[] {
  if (schema.kind === "list" && "item" in schema && schema.item && Array.isArray(value)) {
    const { item } = schema;
    return value.flatMap((element, at) => emptyFieldsIn(element, item, isPatch, `${path}/${at}`));
  }
  if (schema.kind !== "struct" || !isJsonObject(value)) return [];
  return Object.entries(schema.fields).flatMap(([name, field]) => {
    const content = value[name];
    if (content === undefined || (isPatch && content === null)) return [];
    const isEmpty = leftOutByGo.get(`${schema.name} ${name}`)!.includes(JSON.stringify(content));
    return isEmpty ? [`${path}/${name}`] : emptyFieldsIn(content, field, isPatch, `${path}/${name}`);
  });
}

/** Generates objects of a type where any field may be empty or absent. */
function anyOf(schema: PatchSchema): fc.Arbitrary<Json> {
  if (schema.kind === "scalar") return fc.constantFrom<Json>("", 0, false, null, "text", 1, true);
  if (schema.kind === "map") return fc.constantFrom<Json>({}, null, { a: "" }, { cpu: "0" });
  if (schema.kind === "list") {
    const item = "item" in schema ? schema.item : undefined;
    if (!item) return fc.constantFrom<Json>([], null, ["a"]);
    const named = schema.merge === "key" ? { [schema.key]: "some" } : {};
    return fc.oneof(
      fc.constantFrom<Json>([], null),
      anyOf(item).map((value) => [{ ...(value as JsonObject), ...named }]),
    );
  }
  const fields = Object.entries(schema.fields).map(([name, field]) => [name, anyOf(field)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

/** Returns the body of the request that this call sends. */
async function bodyOf(call: (client: KubeClient) => Promise<unknown>): Promise<Json> {
  const bodies: string[] = [];
  const client = kubeClient({
    fetch: (_, { body }) => {
      bodies.push(body as string);
      return Promise.reject(new Error("unreachable"));
    },
    url: "https://kube.test",
    token: () => "cluster-token",
    fieldManager: "rollcall.test",
    withinMs: 5000,
    nowMs: () => 0,
  });
  await call(client);
  expect(bodies).toHaveLength(1);
  return JSON.parse(bodies[0]!) as Json;
}

const node: Node = { metadata: { name: "edge-1", uid: "u-1" } };
const event: Event = { metadata: { name: "edge-1.1", namespace: "default" }, involvedObject: {} };

describe("the apiserver gets no field that Go would omit", () => {
  it.each<
    [what: string, schema: StructSchema, call: (client: KubeClient, content: Json) => Promise<unknown>]
  >([
    ["createNode", nodeSchema, (client, content) => client.createNode(content as Node)],
    [
      "createEvent",
      eventSchema,
      (client, content) =>
        client.createEvent({ ...(content as object), metadata: { name: "e", namespace: "" } } as Event),
    ],
    ["createLease", leaseSchema, (client, content) => client.createLease(content as Lease)],
    ["updateLease", leaseSchema, (client, content) => client.updateLease(content as Lease)],
  ])("%s", async (_, schema, call) => {
    await fc.assert(
      fc.asyncProperty(anyOf(schema), async (content) => {
        const body = await bodyOf((client) => call(client, content));
        expect(emptyFieldsIn(body, schema, false)).toEqual([]);
      }),
    );
  });

  it.each<
    [what: string, schema: StructSchema, call: (client: KubeClient, patch: JsonObject) => Promise<unknown>]
  >([
    ["patchNode", nodeSchema, (client, patch) => client.patchNode(node, patch)],
    ["patchNodeStatus", nodeSchema, (client, patch) => client.patchNodeStatus(node, patch)],
    ["patchEvent", eventSchema, (client, patch) => client.patchEvent(event, patch)],
  ])("%s", async (_, schema, call) => {
    await fc.assert(
      fc.asyncProperty(anyOf(schema), async (patch) => {
        const body = await bodyOf((client) => call(client, patch as JsonObject));
        expect(emptyFieldsIn(body, schema, true)).toEqual([]);
      }),
    );
  });
});

describe("a value with a meaning is sent unchanged", () => {
  it.each<[situation: string, call: (client: KubeClient) => Promise<unknown>, body: object]>([
    [
      "an event without a message → no message; its reporter is no omitempty field",
      (client) =>
        client.createEvent({ ...event, message: "", reportingComponent: "", reportingInstance: "" }),
      { metadata: { name: "edge-1.1" }, involvedObject: {}, reportingComponent: "", reportingInstance: "" },
    ],
    [
      "a Node with nothing to say → nodeInfo and the port of daemonEndpoints stay",
      (client) =>
        client.createNode({
          metadata: { name: "edge-1", labels: {}, annotations: { a: "" } },
          spec: { providerID: "", unschedulable: false, taints: [] },
          status: {
            capacity: {},
            daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
            conditions: [],
            features: { supplementalGroupsPolicy: false },
          },
        }),
      {
        metadata: { name: "edge-1", annotations: { a: "" } },
        spec: {},
        status: {
          daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
          features: { supplementalGroupsPolicy: false },
        },
      },
    ],
    [
      "a patch that empties fields → null, as in one made of two objects; directives stay",
      (client) =>
        client.patchNode(node, {
          metadata: { labels: {}, annotations: { gone: null }, finalizers: [] },
          spec: { providerID: "", taints: [] },
          status: { conditions: [{ type: "Ready", $patch: "delete" }], $retainKeys: [] },
        }),
      {
        metadata: { annotations: { gone: null } },
        spec: { providerID: null, taints: null },
        status: { conditions: [{ type: "Ready", $patch: "delete" }], $retainKeys: [] },
      },
    ],
  ])("%s", async (_, call, body) => {
    const { kind: _kind, apiVersion: _version, ...sent } = (await bodyOf(call)) as JsonObject;
    const { metadata, ...rest } = sent;
    const { namespace: _namespace, ...named } = metadata as JsonObject;
    expect({ ...rest, metadata: named }).toEqual(body);
  });
});
