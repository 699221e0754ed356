// Contract cases: configurations and requests that cannot be applied.
import { expect } from "vitest";
import { failure, leases, node, nodes, type RequestCase } from "./case.ts";
import {
  apply,
  applyMap,
  applyStatus,
  clusterRoles,
  configMap,
  configMaps,
  patchMap,
  role,
} from "./apply-requests.ts";

/** What does not fit the type's schema. */
function untyped(name: string, error: string, kind = "/v1, Kind=ConfigMap") {
  return {
    code: 500,
    body: {
      kind: "Status",
      status: "Failure",
      message: `failed to create typed patch object (/${name}; ${kind}): ${error}`,
    },
  };
}

export const refusals: RequestCase[] = [
  ...[
    { what: "an unknown field", rest: { dat: {} }, error: ".dat: field not declared in schema" },
    {
      what: "a number for text",
      rest: { data: { x: 1 } },
      error: ".data.x: expected string, got &value.valueUnstructured{Value:1}",
    },
    {
      what: "a map for text",
      rest: { data: { x: { y: [true, "z"] } } },
      error:
        ".data.x: expected string, got &value.valueUnstructured{Value:map[string]interface {}" +
        '{"y":[]interface {}{true, "z"}}}',
    },
    { what: "text for a map", rest: { data: "x" }, error: ".data: expected map, got &{x}" },
    { what: "a list for a map", rest: { data: ["x", 1] }, error: ".data: expected map, got &{[x 1]}" },
    { what: "text for a boolean", rest: { immutable: "x" }, error: ".immutable: expected boolean, got &{x}" },
    {
      what: "several errors",
      rest: { metadata: { name: "NAME", finalizers: [1, 1], ownerReferences: [{ uid: "u", foo: 1 }] } },
      error: "errors:\n  .metadata.",
    },
  ].map(({ what, rest, error }): RequestCase => ({
    situation: `${what} → 500`,
    request: (name) => applyMap(name, "a", JSON.parse(JSON.stringify(rest).replaceAll("NAME", name))),
    outcome: (name) => {
      const outcome = untyped(name, error);
      const message: unknown = error.endsWith(".")
        ? expect.stringContaining(outcome.body.message)
        : outcome.body.message;
      return { ...outcome, body: { ...outcome.body, message } };
    },
  })),
  ...[
    {
      what: "a condition that comes twice",
      rest: { status: { conditions: [{ type: "A" }, { type: "A" }] } },
      error: '.status.conditions: duplicate entries for key [type="A"]',
    },
    {
      what: "a value that comes twice",
      rest: { spec: { podCIDRs: ["a", "a"] } },
      error: '.spec.podCIDRs: duplicate entries for key [="a"]',
    },
    {
      what: "null in a set",
      rest: { spec: { podCIDRs: [null] } },
      error:
        ".spec.podCIDRs: element 0: associative list without keys has an element that's an explicit null",
    },
    {
      what: "a map in a set",
      rest: { spec: { podCIDRs: [{}] } },
      error: ".spec.podCIDRs: element 0: associative list without keys has an element that's a map type",
    },
    {
      what: "an unknown field in a list",
      rest: { spec: { taints: [{ kay: "a" }] } },
      error: ".spec.taints[0].kay: field not declared in schema",
    },
    {
      what: "text for a number",
      rest: { status: { images: [{ names: ["a"], sizeBytes: "x" }] } },
      error: ".status.images[0].sizeBytes: expected numeric (int or float), got string",
    },
  ].map(({ what, rest, error }): RequestCase => ({
    situation: `${what} → 500`,
    request: (name) => apply(`${nodes}/${name}`, "a", node(name, rest)),
    outcome: (name) => untyped(name, error, "/v1, Kind=Node"),
  })),
  {
    situation: "an unknown field in a role's rule → 500",
    request: (name) => apply(`${clusterRoles}/${name}`, "a", { ...role(name), rules: [{ verb: ["get"] }] }),
    outcome: (name) =>
      untyped(
        name,
        ".rules[0].verb: field not declared in schema",
        "rbac.authorization.k8s.io/v1, Kind=ClusterRole",
      ),
  },
  {
    situation: "a quantity that is none → 500",
    before: (name) => [apply(`${nodes}/${name}`, "a", node(name))],
    request: (name) => applyStatus(name, "a", { capacity: { cpu: "x" } }),
    outcome: (name) => ({
      code: 500,
      body: {
        message:
          `failed to convert new object (/${name}; /v1, Kind=Node) to proper version: unable to convert unstructured ` +
          "object to /v1, Kind=Node: quantities must match the regular expression " +
          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      },
    }),
  },
  {
    situation: "a fraction for an integer → 500",
    request: (name) =>
      apply(`${leases}/${name}`, "a", {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name },
        spec: { leaseDurationSeconds: 1.5 },
      }),
    outcome: (name) => ({
      code: 500,
      body: {
        message:
          `failed to convert new object (/${name}; coordination.k8s.io/v1, Kind=Lease) to proper version: unable to ` +
          "convert unstructured object to coordination.k8s.io/v1, Kind=Lease: cannot convert float64 to int32",
      },
    }),
  },
  {
    situation: "values are validated as in an update → 422",
    request: (name) =>
      apply(`${leases}/${name}`, "a", {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name },
        spec: { leaseDurationSeconds: -1 },
      }),
    outcome: (name) =>
      failure(
        422,
        "Invalid",
        `Lease.coordination.k8s.io "${name}" is invalid: spec.leaseDurationSeconds: Invalid value: -1: ` +
          "must be greater than 0",
      ),
  },
  ...[
    { what: "no apiVersion", change: { apiVersion: undefined }, said: "/, Kind=ConfigMap" },
    { what: "another kind", change: { kind: "Secret" }, said: "/v1, Kind=Secret" },
    { what: "another version", change: { apiVersion: "apps/v1" }, said: "apps/v1, Kind=ConfigMap" },
  ].map(({ what, change, said }): RequestCase => ({
    situation: `${what} → 400`,
    request: (name) => applyMap(name, "a", change),
    outcome: () => failure(400, "BadRequest", `invalid object type: ${said}`),
  })),
  {
    situation: "an empty body → 400",
    request: (name) => apply(`${configMaps}/${name}`, "a", ""),
    outcome: () => failure(400, "BadRequest", "invalid object type: /, Kind="),
  },
  {
    situation: "a list as body → 400",
    request: (name) => apply(`${configMaps}/${name}`, "a", "[1]"),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go " +
          "value of type map[string]interface {}",
      ),
  },
  {
    situation: "a body that is no YAML → 400",
    request: (name) => apply(`${configMaps}/${name}`, "a", "a: b: c"),
    outcome: () => ({
      code: 400,
      body: {
        reason: "BadRequest",
        message: expect.stringContaining("error decoding YAML: error converting YAML to JSON: yaml: "),
      },
    }),
  },
  {
    situation: "managedFields in a configuration → 400",
    request: (name) => applyMap(name, "a", {}, { managedFields: [] }),
    outcome: () => failure(400, "BadRequest", "metadata.managedFields must be nil"),
  },
  {
    situation: "another name than the path's → 400",
    request: (name) => apply(`${configMaps}/${name}`, "a", configMap("other", {})),
    outcome: (name) =>
      failure(
        400,
        "BadRequest",
        `the name of the object (other) does not match the name on the URL (${name})`,
      ),
  },
  {
    situation: "no name, and nothing that has one → 400",
    request: (name) => applyMap(name, "a", { metadata: {} }),
    outcome: (name) =>
      failure(
        400,
        "BadRequest",
        `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
      ),
  },
  {
    situation: "no name for what is there: it is that one",
    before: (name) => [applyMap(name, "a", { data: { x: "1" } })],
    request: (name) => applyMap(name, "a", { metadata: {}, data: { x: "2" } }),
    outcome: (name) => ({ code: 200, body: { metadata: { name }, data: { x: "2" } } }),
  },
  {
    situation: "another namespace than the path's → 400",
    request: (name) => applyMap(name, "a", {}, { namespace: "other" }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
      ),
  },
  {
    situation: "no fieldManager → 422",
    request: (name) => applyMap(name, "", {}),
    outcome: () =>
      failure(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
        { group: "meta.k8s.io", kind: "PatchOptions" },
      ),
  },
  {
    situation: "force in a patch that is no apply → 422",
    request: (name) => patchMap(name, "a&force=true", {}),
    outcome: () =>
      failure(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      ),
  },
  {
    situation: "the status of what is not there → 404",
    request: (name) => applyStatus(name, "a", { phase: "x" }),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`),
  },
  {
    situation: "a dry run stores nothing",
    before: (name) => [applyMap(name, "a&dryRun=All", { data: { x: "1" } })],
    request: (name) => ({ path: `${configMaps}/${name}` }),
    outcome: (name) => failure(404, "NotFound", `configmaps "${name}" not found`),
  },
  {
    situation: "a key that comes twice, with fieldValidation=Strict → 400",
    request: (name) =>
      apply(
        `${configMaps}/${name}`,
        "a&fieldValidation=Strict",
        `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  x: "1"\n  x: "2"\n`,
      ),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n" +
          '  line 6: key "x" already set in map',
      ),
  },
];
