// Bodies that are no object of the kind: not JSON, cut off, too deep, too large, of another kind, of other types.
import { type Case, failure, leases, nodes, secrets } from "./case.ts";

const unrecognized =
  "the object provided is unrecognized (must be of type Node): couldn't get version/kind; json parse error: ";
const intoIdentity = String.raw`Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

/** A body as it is, and the text of the 400 that answers it. */
function bad(situation: string, body: string, message: string, path = nodes): Case {
  return {
    situation,
    request: () => ({ method: "POST", path, body }),
    outcome: () => failure(400, "BadRequest", message),
  };
}

function noNode(situation: string, body: string, error: string, shown: string): Case {
  return bad(situation, body, `${unrecognized}${error} (${shown})`);
}

function mistyped(situation: string, body: string, error: string): Case {
  return bad(situation, body, `Node in version "v1" cannot be handled as a Node: ${error}`);
}

function otherKind(situation: string, kind: string, apiVersion: string, error: string): Case {
  const version = apiVersion.split("/").at(-1);
  const message = `${kind} in version "${version}" cannot be handled as a Node: ${error}`;
  return bad(situation, JSON.stringify({ kind, apiVersion }), message);
}

function intoField(value: string, field: string, type: string): string {
  return `json: cannot unmarshal ${value} into Go struct field ${field} of type ${type}`;
}

const deep = 10_001;

const syntax: Case[] = [
  noNode("no body", "", "unexpected end of JSON input", "<empty>"),
  noNode("a body that is cut off", '{"metadata":{', "unexpected end of JSON input", '{"metadata":{'),
  noNode(
    "a body of another language",
    "hello, apiserver",
    "invalid character 'h' looking for beginning of value",
    "68656c6c6f2c20617069736572766572",
  ),
  noNode(
    "a body with a comma too many",
    '{"metadata":{"name":"x"},}',
    "invalid character '}' looking for beginning of object key string",
    '{"metadata":{"name":"x"},}',
  ),
  noNode("a body with something behind it", "{} x", "invalid character 'x' after top-level value", "{} x"),
  noNode(
    "a long body that is no JSON is shown from its start",
    `{"a":${"x".repeat(40)}}`,
    "invalid character 'x' looking for beginning of value",
    `{"a":${"x".repeat(25)} ...`,
  ),
  noNode("a body that is a list", "[]", `json: cannot unmarshal array into ${intoIdentity}`, "5b5d"),
  noNode("a body that is a number", "5", `json: cannot unmarshal number into ${intoIdentity}`, "35"),
  noNode(
    "a body that goes too deep",
    `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`,
    "invalid character '{' exceeded max depth",
    `${'{"a":'.repeat(6)} ...`,
  ),
  {
    situation: "a body that goes deep where nobody looks",
    request: (name) => ({
      method: "POST",
      path: `${nodes}?fieldValidation=Ignore`,
      body: `{"metadata":{"name":"${name}"},"x":${"[".repeat(9_000)}${"]".repeat(9_000)}}`,
    }),
    outcome: () => ({ code: 201 }),
  },
];

const kinds: Case[] = [
  bad(
    "a kind that is a number",
    '{"kind":5}',
    `${unrecognized}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})`,
  ),
  bad(
    "a version with two slashes",
    '{"apiVersion":"a/b/c"}',
    "the object provided is unrecognized (must be of type Node): unexpected GroupVersion string: a/b/c " +
      '({"apiVersion":"a/b/c"})',
  ),
  otherKind(
    "a body of another kind",
    "Secret",
    "v1",
    "converting (v1.Secret) to (core.Node): unknown conversion",
  ),
  otherKind(
    "a body of a kind of another group",
    "Lease",
    "coordination.k8s.io/v1",
    "converting (v1.Lease) to (core.Node): unknown conversion",
  ),
  otherKind(
    "a body of an unknown kind",
    "Foo",
    "v1",
    'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
  ),
  otherKind(
    "a body of an unknown version",
    "Node",
    "v2",
    'no kind "Node" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
  ),
  bad(
    "a lease of the core group",
    '{"kind":"Lease","apiVersion":"v1"}',
    'Lease in version "v1" cannot be handled as a Lease: no kind "Lease" is registered for version "v1" in scheme ' +
      '"pkg/runtime/scheme.go:111"',
    leases,
  ),
  bad(
    "a lease of an older version",
    '{"kind":"Lease","apiVersion":"coordination.k8s.io/v1beta1"}',
    "the API version in the data (coordination.k8s.io/v1beta1) does not match the expected API version " +
      "(coordination.k8s.io/v1)",
    leases,
  ),
];

const types: Case[] = [
  mistyped(
    "a name that is a number",
    '{"metadata":{"name":5}}',
    intoField("number", "ObjectMeta.metadata.name", "string"),
  ),
  mistyped(
    "metadata that is text",
    '{"metadata":"x"}',
    intoField("string", "Node.metadata", "v1.ObjectMeta"),
  ),
  mistyped("a spec that is a list", '{"spec":[]}', intoField("array", "Node.spec", "v1.NodeSpec")),
  mistyped(
    "taints that are an object",
    '{"spec":{"taints":{}}}',
    intoField("object", "NodeSpec.spec.taints", "[]v1.Taint"),
  ),
  mistyped(
    "an effect that is a number",
    '{"spec":{"taints":[{"effect":5}]}}',
    intoField("number", "Taint.spec.taints.effect", "v1.TaintEffect"),
  ),
  mistyped(
    "a bool that is text",
    '{"spec":{"unschedulable":"x"}}',
    intoField("string", "NodeSpec.spec.unschedulable", "bool"),
  ),
  mistyped(
    "a number with a fraction",
    '{"metadata":{"generation":1.5}}',
    intoField("number 1.5", "ObjectMeta.metadata.generation", "int64"),
  ),
  mistyped(
    "a port that is too large",
    '{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":3000000000}}}}',
    intoField("number 3000000000", "DaemonEndpoint.status.daemonEndpoints.kubeletEndpoint.Port", "int32"),
  ),
  mistyped(
    "labels that are a list",
    '{"metadata":{"labels":[]}}',
    intoField("array", "ObjectMeta.metadata.labels", "map[string]string"),
  ),
  mistyped(
    "a time that is none",
    '{"metadata":{"creationTimestamp":"x"}}',
    'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
  ),
  mistyped(
    "a day that is not in the calendar",
    '{"metadata":{"creationTimestamp":"2026-02-30T00:00:00Z"}}',
    'parsing time "2026-02-30T00:00:00Z": day out of range',
  ),
  mistyped(
    "a time that is a number",
    '{"metadata":{"creationTimestamp":5}}',
    intoField("number", "ObjectMeta.metadata.creationTimestamp", "string"),
  ),
  mistyped(
    "of two mistakes the first counts",
    '{"metadata":{"name":5},"spec":[]}',
    intoField("number", "ObjectMeta.metadata.name", "string"),
  ),
  bad(
    "a lease's time without its six digits",
    '{"spec":{"renewTime":"2026-01-01T00:00:00Z"}}',
    'Lease in version "v1" cannot be handled as a Lease: parsing time "2026-01-01T00:00:00Z" as ' +
      '"2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    leases,
  ),
  bad(
    "a secret that is no base64",
    '{"data":{"a":"%"}}',
    'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
    secrets,
  ),
];

const media: Case[] = [
  {
    situation: "YAML",
    request: (name) => ({
      method: "POST",
      path: nodes,
      type: "application/yaml",
      body: `metadata:\n  name: ${name}\nspec: {unschedulable: true}\n`,
    }),
    outcome: () => ({ code: 201, body: { spec: { unschedulable: true } } }),
  },
  {
    situation: "JSON with its character set",
    request: (name) => ({
      method: "POST",
      path: nodes,
      type: "application/json; charset=utf-8",
      body: { metadata: { name } },
    }),
    outcome: () => ({ code: 201 }),
  },
  {
    situation: "a media type that nobody knows",
    request: () => ({ method: "POST", path: nodes, type: "text/plain", body: "{}" }),
    outcome: () =>
      failure(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, " +
          "application/yaml, application/vnd.kubernetes.protobuf",
      ),
  },
  {
    situation: "a body of more than 3 MiB",
    request: () => ({ method: "POST", path: nodes, body: "x".repeat(3 * 1024 * 1024 + 1) }),
    outcome: () => failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
  },
  {
    situation: "a body of exactly 3 MiB",
    request: (name) => {
      const start = `{"metadata":{"name":"${name}"},"x":"`;
      const filler = "x".repeat(3 * 1024 * 1024 - start.length - 2);
      return {
        method: "POST",
        path: `${nodes}?fieldValidation=Ignore`,
        body: `${start}${filler}"}`,
      };
    },
    outcome: () => ({ code: 201 }),
  },
];

export const bodies: Case[] = [...syntax, ...kinds, ...types, ...media];
