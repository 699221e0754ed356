// Lists deletions that the embedded and a real apiserver must answer alike: preconditions, finalizers, collections,
// namespaces.
import { type Case, created, failure, node, nodes, patched, timestamp } from "./case.ts";

export const deleting: Case[] = [
  {
    situation: "a deleted Node",
    before: created,
    request: (name) => ({ method: "DELETE", path: `${nodes}/${name}` }),
    outcome: (name, last) => ({
      code: 200,
      body: { status: "Success", details: { name, kind: "nodes", uid: last.body.metadata.uid } },
    }),
  },
  {
    situation: "a Node that is not there cannot be deleted",
    request: (name) => ({ method: "DELETE", path: `${nodes}/${name}` }),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`),
  },
  {
    situation: "another uid in the precondition",
    before: created,
    request: (name) => ({
      method: "DELETE",
      path: `${nodes}/${name}`,
      body: { preconditions: { uid: "other" } },
    }),
    outcome: (name, last) =>
      failure(
        409,
        "Conflict",
        `Operation cannot be fulfilled on Node "${name}": the UID in the precondition (other) does not match the ` +
          `UID in record (${last.body.metadata.uid}). The object might have been deleted and then recreated`,
      ),
  },
  {
    situation: "a finalizer keeps the object, with the time of its deletion",
    before: (name) => [
      { method: "POST", path: nodes, body: node(name, {}, { finalizers: ["example.com/x"] }) },
    ],
    request: (name) => ({ method: "DELETE", path: `${nodes}/${name}` }),
    outcome: () => ({
      code: 200,
      body: {
        kind: "Node",
        metadata: {
          deletionTimestamp: timestamp,
          deletionGracePeriodSeconds: 0,
          finalizers: ["example.com/x"],
        },
      },
    }),
  },
  {
    situation: "the last finalizer goes, and the object with it",
    before: (name) => [
      { method: "POST", path: nodes, body: node(name, {}, { finalizers: ["example.com/x"] }) },
      { method: "DELETE", path: `${nodes}/${name}` },
      patched(name, "merge", { metadata: { finalizers: null } }),
    ],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: () => ({ code: 404 }),
  },
];
