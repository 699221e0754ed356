// What the query says of a write: dry runs, unknown and repeated fields, the field manager.
import { expect } from "vitest";
import { type Case, configMaps, failure, invalid, made, node, nodes, patched } from "./case.ts";

const unknownTaint = { spec: { junk: 1, taints: [{ key: "a", effect: "NoSchedule", kez: 1 }] } };
const unknownWarnings =
  '299 - "unknown field \\"spec.junk\\"", 299 - "unknown field \\"spec.taints[0].kez\\""';

function repeated(name: string): string {
  return (
    `{"metadata":{"name":"${name}","labels":{"a":"1","a":"2"}},` +
    '"spec":{"unschedulable":true,"unschedulable":false,"x":{"y":1,"y":2}}}'
  );
}

const strictness: Case[] = [
  {
    situation: "unknown fields: warnings, by default too",
    request: (name) => made(nodes, node(name, unknownTaint)),
    outcome: () => ({ code: 201, headers: { warning: unknownWarnings } }),
  },
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
  {
    situation: "fields that come twice: warnings, and the last counts",
    request: (name) => ({ method: "POST", path: nodes, body: repeated(name) }),
    outcome: () => ({
      code: 201,
      body: { metadata: { labels: { a: "2" } } },
      headers: {
        warning:
          '299 - "duplicate field \\"metadata.labels.a\\"", 299 - "duplicate field \\"spec.unschedulable\\"", ' +
          '299 - "unknown field \\"spec.x\\""',
      },
    }),
  },
  {
    situation: "fields that come twice: refused",
    request: (name) => ({ method: "POST", path: `${nodes}?fieldValidation=Strict`, body: repeated(name) }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        'Node in version "v1" cannot be handled as a Node: strict decoding error: duplicate field ' +
          '"metadata.labels.a", duplicate field "spec.unschedulable", unknown field "spec.x"',
      ),
  },
  {
    situation: "YAML keys that come twice: refused",
    request: (name) => ({
      method: "POST",
      path: `${nodes}?fieldValidation=Strict`,
      type: "application/yaml",
      body: `metadata:\n  name: ${name}\n  name: ${name}\n`,
    }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        'Node in version "v1" cannot be handled as a Node: strict decoding error: yaml: unmarshal errors:\n' +
          '  line 3: key "name" already set in map',
      ),
  },
  {
    situation: "an object that is invalid as well: the warning comes with the refusal",
    request: (name) => made(configMaps, { metadata: { name }, data: { "a b": "" }, junk: 1 }),
    outcome: () => ({ code: 422, headers: { warning: '299 - "unknown field \\"junk\\""' } }),
  },
  {
    situation: "an unknown field in a merge patch: a warning",
    before: (name) => [made(nodes, node(name))],
    request: (name) => patched(name, "merge", { spec: { junk: 1 } }),
    outcome: () => ({ code: 200, headers: { warning: '299 - "unknown field \\"spec.junk\\""' } }),
  },
  {
    situation: "unknown fields in a strategic merge patch: warnings in order",
    before: (name) => [made(nodes, node(name))],
    request: (name) => patched(name, "strategic", { spec: { b: 1, a: 1 } }),
    outcome: () => ({
      code: 200,
      headers: { warning: '299 - "unknown field \\"spec.a\\"", 299 - "unknown field \\"spec.b\\""' },
    }),
  },
  {
    situation: "unknown fields in a strategic merge patch: refused",
    before: (name) => [made(nodes, node(name))],
    request: (name) => ({
      method: "PATCH",
      path: `${nodes}/${name}?fieldValidation=Strict`,
      type: "strategic",
      body: { spec: { junk: [1, "x"] } },
    }),
    outcome: () =>
      invalid("", "", [
        "patch",
        'Invalid value: "map[spec:map[junk:[1 x]]]": strict decoding error: unknown field "spec.junk"',
      ]),
  },
  {
    situation: "an unknown field of an operation",
    before: (name) => [made(nodes, node(name))],
    request: (name) =>
      patched(name, "json", [{ op: "add", path: "/metadata/labels", value: { a: "b" }, junk: 1 }]),
    outcome: () => ({
      code: 200,
      headers: { warning: '299 - "json patch unknown field \\"[0].junk\\""' },
    }),
  },
  {
    situation: "a field that comes twice in a patch",
    before: (name) => [made(nodes, node(name))],
    request: (name) => patched(name, "merge", '{"spec":{"unschedulable":false,"unschedulable":true}}'),
    outcome: () => ({
      code: 200,
      body: { spec: { unschedulable: true } },
      headers: { warning: '299 - "duplicate field \\"spec.unschedulable\\""' },
    }),
  },
];

const dryRuns: Case[] = [
  {
    situation: "a dry run of a creation answers what would be there",
    request: (name) => made(`${configMaps}?dryRun=All`, { metadata: { name }, data: { a: "b" } }),
    outcome: () => ({ code: 201, body: { metadata: { uid: expect.any(String) }, data: { a: "b" } } }),
  },
  {
    situation: "a dry run of a creation with a taken name",
    before: (name) => [made(configMaps, { metadata: { name } })],
    request: (name) => made(`${configMaps}?dryRun=All`, { metadata: { name } }),
    outcome: (name) => failure(409, "AlreadyExists", `configmaps "${name}" already exists`),
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

const others: Case[] = [
  {
    situation: "a validation of fields that nobody knows",
    request: (name) => made(`${nodes}?fieldValidation=Foo`, node(name)),
    outcome: () =>
      invalid("CreateOptions.meta.k8s.io", "", [
        "fieldValidation",
        'Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"',
      ]),
  },
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
  {
    situation: "a field manager that cannot be printed",
    request: (name) => made(`${nodes}?fieldManager=a%07b`, node(name)),
    outcome: () =>
      invalid("CreateOptions.meta.k8s.io", "", [
        "fieldManager",
        String.raw`Invalid value: "a\ab": invalid character U+0007 (at position 1)`,
      ]),
  },
  {
    situation: "force without applying",
    before: (name) => [made(nodes, node(name))],
    request: (name) => ({ method: "PATCH", path: `${nodes}/${name}?force=true`, type: "merge", body: {} }),
    outcome: () =>
      invalid("PatchOptions.meta.k8s.io", "", [
        "force",
        "Forbidden: may not be specified for non-apply patch",
      ]),
  },
  {
    situation: "options are looked at before the body's media type",
    request: (name) => ({
      method: "PUT",
      path: `${nodes}/${name}?dryRun=x`,
      type: "text/plain",
      body: "x",
    }),
    outcome: () =>
      invalid("UpdateOptions.meta.k8s.io", "", [
        "dryRun",
        'Unsupported value: ["x"]: supported values: "All"',
      ]),
  },
];

export const options: Case[] = [...strictness, ...dryRuns, ...others];
