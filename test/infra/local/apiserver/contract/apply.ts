// Lists requests for server-side apply that the embedded and a real apiserver must answer alike, as `npm start`
// applies infra/rbac: new objects, changes, removed fields, and other managers' fields taken by force.
import { expect } from "vitest";
import { type Sent, send } from "../test-server.ts";
import { type Case, accounts } from "./case.ts";
import { applied, create, ownershipCase, patch, rbac, updated, type Writes } from "./ownership.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

function account(name: string, rest: object = {}) {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, ...rest } };
}

/** Returns a server-side apply. `query` starts with the name of the field manager. */
function apply(path: string, query: string, body: object): Sent {
  return { method: "PATCH", path: `${path}?fieldManager=${query}`, type: "apply", body };
}

function applyAccount(name: string, query: string, rest: object = {}): Sent {
  return apply(`${accounts}/${name}`, query, account(name, rest));
}

const ofLabels = (...keys: string[]) => ({
  "f:metadata": { "f:labels": Object.fromEntries(keys.map((key) => [key, {}])) },
});

const role = (name: string, verbs: string[]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules: [{ apiGroups: [""], resources: ["nodes"], verbs }],
});

const policy = (name: string, variables: object[]) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: ["x.example"], apiVersions: ["*"], operations: ["CREATE"], resources: ["x"] },
      ],
    },
    matchConditions: variables,
    validations: [{ expression: "true" }],
  },
});
const condition = (name: string, expression: string) => ({ name, expression });

const owners: Writes[] = [
  {
    situation: "an object that is not there is made, and its fields are the applier's",
    writes: (name) => [applyAccount(name, "a", { labels: { x: "1" } })],
    object: () => ({ metadata: { labels: { x: "1" } } }),
    owners: () => [applied("a", ofLabels("f:x"))],
  },
  {
    situation: "what is no longer said goes",
    writes: (name) => [
      applyAccount(name, "a", { labels: { x: "1", y: "1" } }),
      applyAccount(name, "a", { labels: { x: "2" } }),
    ],
    object: () => ({ metadata: { labels: { x: "2" } } }),
    owners: () => [applied("a", ofLabels("f:x"))],
  },
  {
    situation: "what is no longer said stays when somebody else owns it",
    writes: (name) => [
      applyAccount(name, "a", { labels: { x: "1", y: "1" } }),
      applyAccount(name, "b", { labels: { y: "1" } }),
      applyAccount(name, "a", { labels: { x: "1" } }),
    ],
    object: () => ({ metadata: { labels: { x: "1", y: "1" } } }),
    owners: () => [applied("a", ofLabels("f:x")), applied("b", ofLabels("f:y"))],
  },
  {
    situation: "fields that others wrote stay theirs",
    writes: (name) => [
      create(`${accounts}?fieldManager=u`, account(name, { labels: { x: "1" } })),
      applyAccount(name, "a", { labels: { y: "1" } }),
    ],
    object: () => ({ metadata: { labels: { x: "1", y: "1" } } }),
    owners: () => [applied("a", ofLabels("f:y")), updated("u", ofLabels(".", "f:x"))],
  },
  {
    situation: "by force the fields of others are taken",
    writes: (name) => [
      create(`${accounts}?fieldManager=u`, account(name, { labels: { x: "1", y: "1" } })),
      applyAccount(name, "a&force=true", { labels: { x: "2" } }),
    ],
    object: () => ({ metadata: { labels: { x: "2", y: "1" } } }),
    owners: () => [applied("a", ofLabels("f:x")), updated("u", ofLabels(".", "f:y"))],
  },
  {
    situation: "a patch takes what it changes from the applier",
    writes: (name) => [
      applyAccount(name, "a", { labels: { x: "1", y: "1" } }),
      patch(`${accounts}/${name}`, "u", { metadata: { labels: { x: "2" } } }),
    ],
    owners: () => [applied("a", ofLabels("f:y")), updated("u", ofLabels("f:x"))],
  },
  {
    situation: "a role's rules are one field",
    writes: (name) => [
      apply(`${rbac}/clusterroles/${name}`, "a", role(name, ["get"])),
      apply(`${rbac}/clusterroles/${name}`, "a", role(name, ["get", "list"])),
    ],
    object: () => ({ rules: [{ verbs: ["get", "list"] }] }),
    owners: () => [applied("a", { "f:rules": {} }, { apiVersion: "rbac.authorization.k8s.io/v1" })],
  },
  {
    situation: "items of a list with keys come, change and go one by one",
    writes: (name) => [
      apply(`${policies}/${name}`, "a", policy(name, [condition("p", "true"), condition("q", "true")])),
      apply(`${policies}/${name}`, "a", policy(name, [condition("r", "true"), condition("q", "false")])),
    ],
    object: () => ({
      spec: { matchConditions: [condition("r", "true"), condition("q", "false")] },
    }),
    owners: () => [
      applied(
        "a",
        {
          "f:spec": {
            "f:matchConditions": {
              'k:{"name":"q"}': { ".": {}, "f:expression": {}, "f:name": {} },
              'k:{"name":"r"}': { ".": {}, "f:expression": {}, "f:name": {} },
            },
            "f:matchConstraints": {},
            "f:validations": {},
          },
        },
        { apiVersion: "admissionregistration.k8s.io/v1" },
      ),
    ],
  },
  {
    situation: "an object of a service account's list, by its name",
    writes: (name) => [
      apply(`${accounts}/${name}`, "a", { ...account(name), secrets: [{ name: "s" }] }),
      apply(`${accounts}/${name}`, "b", { ...account(name), secrets: [{ name: "t" }] }),
    ],
    object: () => ({ secrets: [{ name: "s" }, { name: "t" }] }),
    owners: () => [
      applied("a", { "f:secrets": { 'k:{"name":"s"}': {} } }),
      applied("b", { "f:secrets": { 'k:{"name":"t"}': {} } }),
    ],
  },
];

const times: Case[] = [
  {
    situation:
      "who applies what is there already gets an entry without a time, and the object stays as it is",
    run: async (server, name) => {
      await send(server, applyAccount(name, "a", { labels: { x: "1" } }));
      const { body } = await send(server, applyAccount(name, "b", { labels: { x: "1" } }));
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
      const first = await send(server, applyAccount(name, "a", { labels: { x: "1" } }));
      const second = await send(server, applyAccount(name, "a", { labels: { x: "1" } }));
      expect(second).toMatchObject({ code: 200, body: first.body });
    },
  },
];

const refusals: Case[] = [
  {
    situation: "without force the fields of others are a conflict",
    before: (name) => [create(`${accounts}?fieldManager=u`, account(name, { labels: { x: "1" } }))],
    request: (name) => applyAccount(name, "a", { labels: { x: "2" } }),
    outcome: () => ({ code: 409, body: { reason: "Conflict" } }),
  },
  {
    situation: "an applier without a name",
    request: (name) => ({ ...applyAccount(name, ""), path: `${accounts}/${name}` }),
    outcome: () => ({ code: 422, body: { reason: "Invalid" } }),
  },
  {
    situation: "managedFields in a configuration",
    request: (name) => applyAccount(name, "a", { managedFields: [{ manager: "a" }] }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  },
  {
    situation: "a configuration of another kind",
    request: (name) => apply(`${accounts}/${name}`, "a", { ...account(name), kind: "Node" }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  },
  {
    situation: "a configuration with another name",
    request: (name) => apply(`${accounts}/${name}`, "a", account(`${name}-other`)),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  },
];

export const applying: Case[] = [...owners.map(ownershipCase), ...times, ...refusals];
