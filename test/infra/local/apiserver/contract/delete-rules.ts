// Lists special deletions that the embedded and a real apiserver must answer alike: propagation, finalizers,
// preconditions, malformed options.
import type { Sent } from "../test-server.ts";
import { type Case, invalid, made, node, nodes, patched, timestamp } from "./case.ts";

const before = (name: string): Sent[] => [made(nodes, node(name))];

function remove(name: string, body?: unknown, query = ""): Sent {
  return { method: "DELETE", path: `${nodes}/${name}${query}`, ...(body !== undefined && { body }) };
}

const finalizer = "example.com/x";

/** Returns the requests that make and delete a Node, which then waits for its finalizer. */
function doomed(name: string): Sent[] {
  return [made(nodes, node(name, {}, { finalizers: [finalizer] })), remove(name)];
}

function waitsFor(...finalizers: string[]) {
  return () => ({
    code: 200,
    body: {
      kind: "Node",
      metadata: { deletionTimestamp: timestamp, deletionGracePeriodSeconds: 0, finalizers },
    },
  });
}

const propagation: Case[] = [
  {
    situation: "dependents go later",
    before,
    request: (name) => remove(name, { propagationPolicy: "Background" }),
    outcome: (name) => ({ code: 200, body: { status: "Success", details: { name } } }),
  },
  {
    situation: "an object that says itself that dependents stay",
    before: (name) => [made(nodes, node(name, {}, { finalizers: ["orphan"] }))],
    request: (name) => remove(name),
    outcome: waitsFor("orphan"),
  },
];

const finalizers: Case[] = [
  {
    situation: "a second deletion changes nothing",
    before: doomed,
    request: (name) => remove(name),
    outcome: (_name, last) => ({
      code: 200,
      body: { metadata: { resourceVersion: last.body.metadata.resourceVersion } },
    }),
  },
  {
    situation: "no new finalizers on what is deleted",
    before: doomed,
    request: (name) => patched(name, "merge", { metadata: { finalizers: [finalizer, "example.com/y"] } }),
    outcome: (name) => {
      const cause: [string, string] = [
        "metadata.finalizers",
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers " +
          '[]string{"example.com/y"}',
      ];
      return invalid("Node", name, cause);
    },
  },
  {
    situation: "a deletion is never taken back",
    before: doomed,
    request: (name) => patched(name, "merge", { metadata: { deletionTimestamp: null, labels: { a: "b" } } }),
    outcome: () => ({ code: 200, body: { metadata: { deletionTimestamp: timestamp, labels: { a: "b" } } } }),
  },
  {
    situation: "the update that takes the last finalizer is answered with the object",
    before: doomed,
    request: (name) => patched(name, "merge", { metadata: { finalizers: [] } }),
    outcome: (name) => ({
      code: 200,
      body: { kind: "Node", metadata: { name, deletionTimestamp: timestamp } },
    }),
  },
  {
    situation: "a write of the status takes the last finalizer as well",
    before: (name) => [
      ...doomed(name),
      patched(name, "merge", { metadata: { finalizers: null } }, "/status"),
    ],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: () => ({ code: 404 }),
  },
  {
    situation: "a dry run of the update that takes the last finalizer",
    before: (name) => [
      ...doomed(name),
      {
        method: "PATCH",
        path: `${nodes}/${name}?dryRun=All`,
        type: "merge",
        body: { metadata: { finalizers: null } },
      },
    ],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: () => ({ code: 200, body: { metadata: { finalizers: [finalizer] } } }),
  },
];

const options: Case[] = [
  {
    situation: "preconditions that hold",
    before,
    request: (name, { body: { metadata } }) =>
      remove(name, { preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion } }),
    outcome: () => ({ code: 200, body: { status: "Success" } }),
  },
];

export const deleteRules: Case[] = [...propagation, ...finalizers, ...options];
