// Contract cases: managedFields that clients send, and the times of entries.
import { expect } from "vitest";
import { type Received, send } from "../test-server.ts";
import { node, nodes, type ScenarioCase } from "./case.ts";
import { core, create, labelled, ofData, ofLabel, patch, put, updated, type Writes } from "./ownership.ts";

const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u" };

function withEntries(managedFields: unknown) {
  return ({ metadata }: Received["body"]) => ({ metadata: { ...metadata, managedFields } });
}

function entry(manager: string, fieldsV1: unknown, rest: object = {}) {
  return {
    manager,
    operation: "Update",
    apiVersion: "v1",
    time: "2020-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1,
    ...rest,
  };
}

const configMap = (name: string) => create(`${core}/configmaps`, { metadata: { name }, data: { a: "1" } });

export const sentEntries: Writes[] = [
  ...[
    { what: "an entry of nothing", entries: [{}] },
    { what: "an empty list", entries: [] },
  ].map(({ what, entries }): Writes => ({
    situation: `${what} resets managedFields, and nothing is tracked from there on`,
    writes: (name) => [
      configMap(name),
      put(`${core}/configmaps/${name}`, "p", withEntries(entries)),
      patch(`${core}/configmaps/${name}`, "p", { data: { b: "2" } }),
    ],
    owners: () => [],
  })),
  {
    situation: "a reset through status is none",
    writes: (name) => [
      create(nodes, node(name, {}, labelled)),
      patch(`${nodes}/${name}/status`, "s", { metadata: { managedFields: [{}] } }),
    ],
    owners: () => [ofLabel],
  },
  ...[
    { what: "no managedFields", entries: undefined },
    { what: "null", entries: null },
    { what: "an entry without apiVersion", entries: [entry("bad", {}, { apiVersion: "" })] },
    { what: "an entry with malformed fields", entries: [entry("bad", { "f:data": 1 })] },
  ].map(({ what, entries }): Writes => ({
    situation: `a PUT with ${what} leaves them alone`,
    writes: (name) => [configMap(name), put(`${core}/configmaps/${name}`, "p", withEntries(entries))],
    owners: () => [updated("test", ofData(".", "f:a"))],
  })),
  {
    situation: "a PUT may write entries; elements are brought into form, unknown versions go",
    writes: (name) => [
      configMap(name),
      put(
        `${core}/configmaps/${name}`,
        "p",
        withEntries([
          entry("x", { "f:data": { "f:a": { ".": {} }, 'k:{ "b": 1, "a": "<" }': {}, "z:?": {} } }),
          entry("y", ofData("f:a"), { apiVersion: "v9" }),
          entry("z", {}),
        ]),
      ),
    ],
    owners: () => [updated("x", { "f:data": { "f:a": {}, [String.raw`k:{"a":"\u003c","b":1}`]: {} } })],
  },
  {
    situation: "entries about parts of what is owned as a whole become entries about the whole",
    writes: (name) => [
      create(nodes, node(name, {}, { ...labelled, ownerReferences: [owner] })),
      put(
        `${nodes}/${name}`,
        "p",
        withEntries([
          entry("x", { "f:metadata": { "f:ownerReferences": { 'k:{"uid":"u"}': { "f:name": {} } } } }),
          entry("y", { "f:spec": { "f:taints": { ".": {}, "i:0": {} } } }),
        ]),
      ),
    ],
    owners: () => [
      updated("x", { "f:metadata": { "f:ownerReferences": { 'k:{"uid":"u"}': {} } } }),
      updated("y", { "f:spec": { "f:taints": {} } }),
    ],
  },
  {
    situation: "a creation may bring entries, which lose what it sets",
    writes: (name) => [
      create(`${core}/configmaps`, {
        metadata: { name, managedFields: [entry("x", ofData("f:a", "f:q"))] },
        data: { a: "1" },
      }),
    ],
    owners: () => [updated("test", ofData(".", "f:a")), updated("x", ofData("f:q"))],
  },
];

function timesOf({ body }: Received): (string | undefined)[] {
  return (body.metadata.managedFields ?? []).map(({ time }) => time);
}

export const times: ScenarioCase[] = [
  {
    situation: "a write that changes nothing keeps the times, and the resourceVersion",
    run: async (server, name) => {
      const old = entry("old", ofData(".", "f:a"));
      const made = await send(server, configMap(name));
      await send(server, put(`${core}/configmaps/${name}`, "test", withEntries([old]))(made));
      const before = await send(server, { path: `${core}/configmaps/${name}` });
      const after = await send(server, patch(`${core}/configmaps/${name}`, "test", { data: { a: "1" } }));
      expect(timesOf(after)).toEqual(["2020-01-01T00:00:00Z"]);
      expect(after.body.metadata.resourceVersion).toBe(before.body.metadata.resourceVersion);
    },
  },
  {
    situation: "a write that changes something has the time of now; the others keep theirs",
    run: async (server, name) => {
      const made = await send(server, configMap(name));
      const entries = [entry("a", ofData("f:a")), entry("b", ofData("f:b"))];
      await send(server, put(`${core}/configmaps/${name}`, "a", withEntries(entries))(made));
      const after = await send(server, patch(`${core}/configmaps/${name}`, "b", { data: { b: "2" } }));
      expect(after.body.metadata.managedFields).toMatchObject([
        { manager: "a", time: "2020-01-01T00:00:00Z" },
        { manager: "b", time: expect.not.stringMatching(/^2020/) },
      ]);
    },
  },
];
