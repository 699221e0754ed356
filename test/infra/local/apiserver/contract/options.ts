// Lists the query parameters of a write that the embedded and a real apiserver must treat alike: dry runs, unknown
// and repeated fields, the field manager.
import { expect } from "vitest";
import { type Case, accounts, failure, invalid, made, node, nodes } from "./case.ts";

const unknownTaint = { spec: { junk: 1, taints: [{ key: "a", effect: "NoSchedule", kez: 1 }] } };
const strictness: Case[] = [
  {
    situation: "unknown fields: ignored",
    request: (name) => made(`${nodes}?fieldValidation=Ignore`, node(name, unknownTaint)),
    outcome: () => ({ code: 201 }),
  },
  {
    situation: "unknown fields: refused",
    request: (name) => made(`${nodes}?fieldValidation=Strict`, node(name, unknownTaint)),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        'Node in version "v1" cannot be handled as a Node: strict decoding error: unknown field "spec.junk", ' +
          'unknown field "spec.taints[0].kez"',
      ),
  },
];

const dryRuns: Case[] = [
  {
    situation: "a dry run of a creation answers what would be there",
    request: (name) => made(`${accounts}?dryRun=All`, { metadata: { name, labels: { a: "b" } } }),
    outcome: () => ({ code: 201, body: { metadata: { uid: expect.any(String), labels: { a: "b" } } } }),
  },
  {
    situation: "a dry run of a creation with a taken name",
    before: (name) => [made(accounts, { metadata: { name } })],
    request: (name) => made(`${accounts}?dryRun=All`, { metadata: { name } }),
    outcome: (name) => failure(409, "AlreadyExists", `serviceaccounts "${name}" already exists`),
  },
  {
    situation: "a dry run of a patch changes nothing",
    before: (name) => [
      made(nodes, node(name)),
      {
        method: "PATCH",
        path: `${nodes}/${name}?dryRun=All`,
        type: "merge",
        body: { spec: { unschedulable: true } },
      },
    ],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: () => ({ code: 200, body: { spec: expect.not.objectContaining({ unschedulable: true }) } }),
  },
  {
    situation: "a dry run of a deletion deletes nothing",
    before: (name) => [
      made(nodes, node(name)),
      { method: "DELETE", path: `${nodes}/${name}`, body: { dryRun: ["All"] } },
    ],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: (name) => ({ code: 200, body: { metadata: { name } } }),
  },
  {
    situation: "a deletion's options are those of its body, whatever the query says",
    before: (name) => [
      made(nodes, node(name)),
      { method: "DELETE", path: `${nodes}/${name}?dryRun=All`, body: {} },
    ],
    request: (name) => ({ path: `${nodes}/${name}` }),
    outcome: () => ({ code: 404 }),
  },
  {
    situation: "a dry run of something else",
    request: (name) => made(`${nodes}?dryRun=All&dryRun=Some`, node(name)),
    outcome: () =>
      invalid("CreateOptions.meta.k8s.io", "", [
        "dryRun",
        'Unsupported value: ["All","Some"]: supported values: "All"',
      ]),
  },
];

const limits: Case[] = [
  {
    situation: "a field manager of 129 bytes",
    request: (name) => ({
      method: "PUT",
      path: `${nodes}/${name}?fieldManager=${"x".repeat(129)}`,
      body: node(name),
    }),
    outcome: () =>
      invalid("UpdateOptions.meta.k8s.io", "", ["fieldManager", "Too long: may not be more than 128 bytes"]),
  },
];

export const options: Case[] = [...strictness, ...dryRuns, ...limits];
