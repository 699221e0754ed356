// Updates and patches beyond the ordinary: preconditions, what only the server writes, patches that cannot be applied.
import { expect } from "vitest";
import type { Received, Sent } from "../test-server.ts";
import {
  type Case,
  configMaps,
  failure,
  invalid,
  leases,
  made,
  modified,
  node,
  nodes,
  patched,
} from "./case.ts";
import { badValue, invalidValue } from "./texts.ts";

const before = (name: string): Sent[] => [made(nodes, node(name, { spec: { providerID: "p" } }))];

/** A PUT of the Node as it was last seen, with other metadata. */
function putWith(metadata: object) {
  return (name: string, last: Received): Sent => ({
    method: "PUT",
    path: `${nodes}/${name}`,
    body: { ...last.body, metadata: { ...last.body.metadata, ...metadata } },
  });
}

function serverError(message: string) {
  return { code: 500, body: { kind: "Status", status: "Failure", code: 500, message } };
}

const preconditions: Case[] = [
  {
    situation: "a PUT with the resourceVersion that is stored",
    before,
    request: putWith({ labels: { a: "b" } }),
    outcome: () => ({ code: 200, body: { metadata: { labels: { a: "b" } } } }),
  },
  {
    situation: "a resourceVersion of 0 asks for nothing",
    before,
    request: putWith({ resourceVersion: "0", labels: { a: "b" } }),
    outcome: () => ({ code: 200, body: { metadata: { labels: { a: "b" } } } }),
  },
  {
    situation: "a resourceVersion that is no number",
    before,
    request: putWith({ resourceVersion: "abc" }),
    outcome: () => serverError('strconv.ParseUint: parsing "abc": invalid syntax'),
  },
  {
    situation: "an older resourceVersion counts more than what is invalid",
    before,
    request: putWith({ resourceVersion: "1", labels: { a: "-" } }),
    outcome: (name) =>
      failure(409, "Conflict", `Operation cannot be fulfilled on nodes "${name}": ${modified}`),
  },
  {
    situation: "a patch that takes the resourceVersion away",
    before,
    request: (name) => patched(name, "merge", { metadata: { resourceVersion: null, labels: { a: "b" } } }),
    outcome: () => ({ code: 200, body: { metadata: { labels: { a: "b" } } } }),
  },
  {
    situation: "a patch of a lease that takes the resourceVersion away",
    before: (name) => [made(leases, { metadata: { name } })],
    request: (name) => ({
      method: "PATCH",
      path: `${leases}/${name}`,
      type: "merge",
      body: { metadata: { resourceVersion: null } },
    }),
    outcome: (name) =>
      invalid(`leases.coordination.k8s.io`, name, [
        "metadata.resourceVersion",
        "Invalid value: 0: must be specified for an update",
      ]),
  },
];

const systemFields: Case[] = [
  {
    situation: "a creationTimestamp that is sent is ignored",
    before,
    request: putWith({ creationTimestamp: "2001-01-01T00:00:00Z" }),
    outcome: (_name, last) => ({
      code: 200,
      body: { metadata: { creationTimestamp: last.body.metadata.creationTimestamp } },
    }),
  },
  {
    situation: "a generation that is sent is ignored",
    before,
    request: (name) => patched(name, "merge", { metadata: { generation: 9 } }),
    outcome: (_name, last) => ({
      code: 200,
      body: { metadata: { resourceVersion: last.body.metadata.resourceVersion } },
    }),
  },
  {
    situation: "nobody marks an object as deleted by an update",
    before,
    request: (name) => patched(name, "merge", { metadata: { deletionTimestamp: "2001-01-01T00:00:00Z" } }),
    outcome: (name) => {
      const cause: [string, string] = [
        "metadata.deletionTimestamp",
        invalidValue("2001-01-01T00:00:00Z", "field is immutable"),
      ];
      return invalid("Node", name, cause, cause);
    },
  },
  {
    situation: "an update that is invalid as well as its kind's rules say",
    before,
    request: putWith({ labels: { a: "-" }, finalizers: ["bad"] }),
    outcome: (name) => {
      const label: [string, string] = ["metadata.labels", invalidValue("-", badValue)];
      const finalizer: [string, string] = [
        "metadata.finalizers[0]",
        invalidValue("bad", "name is neither a standard finalizer name nor is it fully qualified"),
      ];
      return invalid("Node", name, label, label, label, finalizer, label, finalizer);
    },
  },
  {
    situation: "a PUT without a name",
    before,
    request: (name) => ({ method: "PUT", path: `${nodes}/${name}`, body: { metadata: {} } }),
    outcome: (name) =>
      failure(
        400,
        "BadRequest",
        `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
      ),
  },
  {
    situation: "a PUT into another namespace",
    before: (name) => [made(configMaps, { metadata: { name } })],
    request: (name) => ({
      method: "PUT",
      path: `${configMaps}/${name}`,
      body: { metadata: { name, namespace: "other" } },
    }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
      ),
  },
  {
    situation: "a patch may not say a namespace of a Node",
    before,
    request: (name) => patched(name, "merge", { metadata: { namespace: "x" } }),
    outcome: () => ({ code: 200 }),
  },
  {
    situation: "the same owner twice in a patch",
    before,
    request: (name) => {
      const owner = { apiVersion: "v1", kind: "Node", name: "a", uid: "1" };
      return patched(name, "merge", { metadata: { ownerReferences: [owner, owner] } });
    },
    outcome: () => ({
      code: 200,
      body: { metadata: { ownerReferences: [{ uid: "1" }] } },
      headers: {
        warning:
          '299 - ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server ' +
          "dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your " +
          'requests; duplicate UID(s) observed: 1"',
      },
    }),
  },
];

function badPatch(
  situation: string,
  type: string,
  body: unknown,
  outcome: (name: string) => { code: number; body?: object },
  subresource = "",
): Case {
  return { situation, before, request: (name) => patched(name, type, body, subresource), outcome };
}

function badRequest(message: string) {
  return () => failure(400, "BadRequest", message);
}

function unsuitable(patch: string, error: string) {
  return () => invalid("", "", ["patch", invalidValue(patch, error)]);
}

const rejected = () =>
  failure(422, "Invalid", "the server rejected our request due to an error in our request");

const jsonPatches: Case[] = [
  badPatch(
    "a JSON patch that is an object",
    "json",
    {},
    badRequest(
      "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    ),
  ),
  badPatch(
    "operations that are numbers",
    "json",
    [5],
    badRequest(
      "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
    ),
  ),
  badPatch(
    "too many operations",
    "json",
    Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "Node" })),
    () =>
      failure(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
      ),
  ),
  badPatch("an unknown operation", "json", [{ op: "foo", path: "/kind" }], rejected),
  badPatch("an operation without a path", "json", [{ op: "add", value: 1 }], rejected),
  badPatch("a path that leads nowhere", "json", [{ op: "remove", path: "/metadata/nope" }], rejected),
  badPatch("the whole object removed", "json", [{ op: "remove", path: "" }], rejected),
  badPatch("the whole object replaced by text", "json", [{ op: "replace", path: "", value: "x" }], rejected),
  {
    situation: "the whole object replaced",
    before,
    request: (name, last) => {
      const metadata = { ...last.body.metadata, labels: { a: "b" } };
      return patched(name, "json", [{ op: "replace", path: "", value: { ...last.body, metadata } }]);
    },
    outcome: () => ({ code: 200, body: { metadata: { labels: { a: "b" } } } }),
  },
];

const mergePatches: Case[] = [
  badPatch(
    "a merge patch that is cut off",
    "merge",
    '{"spec":',
    badRequest("error decoding patch: unexpected end of JSON input"),
  ),
  badPatch("a merge patch of null", "merge", "null", badRequest("Invalid JSON Patch")),
  badPatch("a merge patch to another kind", "merge", { kind: "Secret" }, () => ({
    code: 422,
    body: { message: expect.stringContaining("converting (v1.Secret) to (core.Node): unknown conversion") },
  })),
  badPatch("a merge patch to a value of another type", "merge", { spec: { unschedulable: "x" } }, () => ({
    code: 422,
    body: {
      message: expect.stringMatching(
        /^ "" is invalid: patch: Invalid value: "\{\\"apiVersion\\":\\"v1\\",\\"kind\\":\\"Node\\",.*": json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool$/,
      ),
    },
  })),
  {
    situation: "a merge patch that goes deep where nobody looks",
    before,
    request: (name) => patched(name, "merge", `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`),
    outcome: () => ({ code: 200, headers: { warning: '299 - "unknown field \\"a\\""' } }),
  },
  badPatch(
    "a merge patch that goes too deep",
    "merge",
    `${'{"a":'.repeat(10_001)}1${"}".repeat(10_001)}`,
    badRequest("error decoding patch: invalid character '{' exceeded max depth"),
  ),
];

const strategicPatches: Case[] = [
  badPatch(
    "a strategic merge patch that is no JSON",
    "strategic",
    "{bad",
    badRequest("invalid character 'b' looking for beginning of object key string"),
  ),
  badPatch(
    "a strategic merge patch that is a list",
    "strategic",
    [],
    badRequest("json: cannot unmarshal array into Go value of type map[string]interface {}"),
  ),
  badPatch(
    "text for a list",
    "strategic",
    { spec: { taints: "x" } },
    unsuitable("map[spec:map[taints:x]]", "cannot restore slice from string"),
  ),
  badPatch(
    "text for an object",
    "strategic",
    { spec: "x" },
    unsuitable("map[spec:x]", "cannot restore struct from: string"),
  ),
  badPatch(
    "text for labels",
    "strategic",
    { metadata: { labels: "x" } },
    unsuitable("map[metadata:map[labels:x]]", "cannot restore map from string"),
  ),
  badPatch(
    "a number for text",
    "strategic",
    { metadata: { labels: { a: 5 } } },
    unsuitable("map[metadata:map[labels:map[a:5]]]", "cannot convert int64 to string"),
  ),
  badPatch(
    "text for a bool",
    "strategic",
    { spec: { unschedulable: "x" } },
    unsuitable("map[spec:map[unschedulable:x]]", "unrecognized type: bool"),
  ),
  badPatch(
    "a quantity that is none",
    "strategic",
    { status: { capacity: { cpu: "x" } } },
    unsuitable(
      "map[status:map[capacity:map[cpu:x]]]",
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "/status",
  ),
  {
    situation: "a strategic merge patch may say another kind",
    before,
    request: (name) => patched(name, "strategic", { kind: "Secret", metadata: { labels: { a: "b" } } }),
    outcome: () => ({ code: 200, body: { kind: "Node", metadata: { labels: { a: "b" } } } }),
  },
  {
    situation: "a strategic merge patch that replaces the object",
    before,
    request: (name) => patched(name, "strategic", { $patch: "replace", metadata: { name } }),
    outcome: (name) =>
      invalid("Node", name, [
        "spec.providerID",
        'Forbidden: node updates may not change providerID except from "" to valid',
      ]),
  },
];

const absent: Case[] = [
  {
    situation: "a patch of what is not there, whatever it says",
    request: (name) => patched(name, "merge", "{bad"),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`, { name, kind: "nodes" }),
  },
];

export const updateRules: Case[] = [
  ...preconditions,
  ...systemFields,
  ...jsonPatches,
  ...mergePatches,
  ...strategicPatches,
  ...absent,
];
