// Contract cases: server-side apply; taking over from kubectl's client-side apply, and the times of entries.
import { expect } from "vitest";
import { type Sent, send } from "../test-server.ts";
import { type Case, type ScenarioCase } from "./case.ts";
import { conflicts } from "./apply-conflicts.ts";
import { owners } from "./apply-owners.ts";
import { refusals } from "./apply-refusals.ts";
import { applyMap, configMap, configMaps, conflict, patchMap } from "./apply-requests.ts";
import { applied, ofData, ownershipCase, updated } from "./ownership.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** What `kubectl apply` without --server-side leaves. */
function clientSide(name: string, data: object): Sent {
  const annotations = { [lastApplied]: JSON.stringify(configMap(name, { data })) };
  return {
    method: "POST",
    path: `${configMaps}?fieldManager=kubectl-client-side-apply`,
    body: configMap(name, { data }, { annotations }),
  };
}

const takingOver: Case[] = [
  ownershipCase({
    situation: "kubectl takes over what it applied from the client, and keeps the annotation true",
    writes: (name) => [
      clientSide(name, { x: "1", y: "1" }),
      applyMap(name, "kubectl", { data: { x: "2", y: "1" } }),
    ],
    object: (name) => ({
      metadata: {
        annotations: {
          [lastApplied]: `{"apiVersion":"v1","data":{"x":"2","y":"1"},"kind":"ConfigMap","metadata":{"name":"${name}"}}\n`,
        },
      },
      data: { x: "2", y: "1" },
    }),
    owners: () => [
      applied("kubectl", ofData("f:x", "f:y")),
      updated("kubectl-client-side-apply", {
        ...ofData(".", "f:y"),
        "f:metadata": { "f:annotations": { ".": {}, [`f:${lastApplied}`]: {} } },
      }),
    ],
  }),
  {
    situation: "what somebody changed since then is his",
    before: (name) => [clientSide(name, { x: "1", y: "1" }), patchMap(name, "u", { data: { x: "3" } })],
    request: (name) => applyMap(name, "kubectl", { data: { x: "2", y: "2" } }),
    outcome: () =>
      conflict('Apply failed with 1 conflict: conflict with "u" using v1: .data.x', [
        ['conflict with "u" using v1', ".data.x"],
      ]),
  },
  {
    situation: "others than kubectl do not take over",
    before: (name) => [clientSide(name, { x: "1" })],
    request: (name) => applyMap(name, "a", { data: { x: "2" } }),
    outcome: () =>
      conflict('Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.x', [
        ['conflict with "kubectl-client-side-apply" using v1', ".data.x"],
      ]),
  },
  {
    situation: "an annotation that is no configuration helps nobody",
    before: (name) => [
      {
        method: "POST",
        path: configMaps,
        body: configMap(name, { data: { x: "1" } }, { annotations: { [lastApplied]: "x" } }),
      },
    ],
    request: (name) => applyMap(name, "kubectl", { data: { x: "2" } }),
    outcome: () => ({ code: 409, body: { reason: "Conflict" } }),
  },
];

const ownTimes: ScenarioCase[] = [
  {
    situation:
      "who applies what is there already gets an entry without a time, and the object stays as it is",
    run: async (server, name) => {
      await send(server, applyMap(name, "a", { data: { x: "1" } }));
      const { body } = await send(server, applyMap(name, "b", { data: { x: "1" } }));
      const entries = body.metadata.managedFields?.map(({ manager, time }) => [manager, typeof time]);
      expect(entries).toEqual([
        ["b", "undefined"],
        ["a", "string"],
      ]);
    },
  },
  {
    situation: "applying the same once more changes nothing",
    run: async (server, name) => {
      const first = await send(server, applyMap(name, "a", { data: { x: "1" } }));
      const second = await send(server, applyMap(name, "a", { data: { x: "1" } }));
      expect(second).toMatchObject({ code: 200, body: first.body });
    },
  },
];

export const applying: Case[] = [
  ...owners.map(ownershipCase),
  ...conflicts,
  ...refusals,
  ...takingOver,
  ...ownTimes,
];
