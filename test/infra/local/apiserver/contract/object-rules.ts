// What leases, ConfigMaps, Secrets, ServiceAccounts and Namespaces may look like, their defaults and their changes.
import type { Sent } from "../test-server.ts";
import {
  type Case,
  type Cause,
  configMaps,
  failure,
  invalid,
  leases,
  made,
  namespaces,
  refused,
  secrets,
  serviceAccounts,
} from "./case.ts";
import { badDataKey, badName, badSubdomain, badValue, invalidValue } from "./texts.ts";

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function merged(path: string, body: object): Sent {
  return { method: "PATCH", path, type: "merge", body };
}

const whenImmutable = "Forbidden: field is immutable when `immutable` is set";

const leaseRules: Case[] = [
  refused(
    "a lease of no duration that went backwards",
    leases,
    "Lease.coordination.k8s.io",
    { spec: { leaseDurationSeconds: -1, leaseTransitions: -1 } },
    ["spec.leaseDurationSeconds", "Invalid value: -1: must be greater than 0"],
    ["spec.leaseTransitions", "Invalid value: -1: must be greater than or equal to 0"],
  ),
  {
    situation: "a lease's election strategy is dropped, the feature being off",
    request: (name) =>
      made(leases, { metadata: { name }, spec: { holderIdentity: "", strategy: "x", preferredHolder: "y" } }),
    outcome: () => ({ code: 201, body: { spec: { holderIdentity: "" } } }),
  },
  {
    situation: "a lease's times are UTC with six digits",
    request: (name) =>
      made(leases, { metadata: { name }, spec: { renewTime: "2026-01-01T01:00:00.000001+01:00" } }),
    outcome: () => ({ code: 201, body: { spec: { renewTime: "2026-01-01T00:00:00.000001Z" } } }),
  },
  {
    situation: "a PUT that makes a lease takes a deletion's time for what it says",
    request: (name) => ({
      method: "PUT",
      path: `${leases}/${name}`,
      body: { metadata: { name, creationTimestamp: "2001-01-01T00:00:00Z", generation: 4 } },
    }),
    outcome: () => ({ code: 201, body: { metadata: { generation: 4 } } }),
  },
  {
    situation: "a PUT of a lease that is not there, in no namespace",
    request: (name) => ({
      method: "PUT",
      path: `/apis/coordination.k8s.io/v1/namespaces/none/leases/${name}`,
      body: { metadata: { name } },
    }),
    outcome: () =>
      failure(404, "NotFound", 'namespaces "none" not found', { name: "none", kind: "namespaces" }),
  },
];

const configMapRules: Case[] = [
  refused("a key with a space", configMaps, "ConfigMap", { data: { "a b": "" } }, [
    "data[a b]",
    invalidValue("a b", badDataKey),
  ]),
  refused("a key that leads up", configMaps, "ConfigMap", { data: { "..": "" } }, [
    "data[..]",
    invalidValue("..", "must not be '..'"),
  ]),
  refused("a binary key that starts with two dots", configMaps, "ConfigMap", { binaryData: { "..a": "" } }, [
    "binaryData[..a]",
    invalidValue("..a", "must not start with '..'"),
  ]),
  refused("one key for text and bytes", configMaps, "ConfigMap", { data: { a: "" }, binaryData: { a: "" } }, [
    "data[a]",
    invalidValue("a", "duplicate of key present in binaryData"),
  ]),
  refused("more than 1 MiB", configMaps, "ConfigMap", { data: { a: "x".repeat(1_048_577) } }, [
    "[]",
    "Too long: may not be more than 1048576 bytes",
  ]),
  {
    situation: "an immutable ConfigMap",
    before: (name) => [made(configMaps, { metadata: { name }, immutable: true, data: { a: "b" } })],
    request: (name) =>
      merged(`${configMaps}/${name}`, { immutable: null, data: { a: "c" }, binaryData: { d: "" } }),
    outcome: (name) =>
      invalid(
        "ConfigMap",
        name,
        ["immutable", whenImmutable],
        ["data", whenImmutable],
        ["binaryData", whenImmutable],
      ),
  },
  {
    situation: "an immutable ConfigMap may get a label",
    before: (name) => [made(configMaps, { metadata: { name }, immutable: true, data: { a: "b" } })],
    request: (name) => merged(`${configMaps}/${name}`, { metadata: { labels: { a: "b" } } }),
    outcome: () => ({ code: 200, body: { metadata: { labels: { a: "b" } } } }),
  },
  {
    situation: "a PUT of a ConfigMap that is not there",
    request: (name) => ({ method: "PUT", path: `${configMaps}/${name}`, body: { metadata: { name } } }),
    outcome: (name) => failure(404, "NotFound", `configmaps "${name}" not found`),
  },
];

function badSecret(
  situation: string,
  sent: { type: string; [field: string]: unknown },
  ...causes: Cause[]
): Case {
  return refused(situation, secrets, "Secret", sent, ...causes);
}

const missing = "Required value";

const secretRules: Case[] = [
  {
    situation: "a secret's text is data, and it is opaque",
    request: (name) =>
      made(secrets, { metadata: { name }, data: { a: base64("x") }, stringData: { a: "z", b: "y" } }),
    outcome: () => ({ code: 201, body: { type: "Opaque", data: { a: base64("z"), b: base64("y") } } }),
  },
  badSecret("a service account's token of no account", { type: "kubernetes.io/service-account-token" }, [
    "metadata.annotations[kubernetes.io/service-account.name]",
    missing,
  ]),
  badSecret("a docker configuration of old without one", { type: "kubernetes.io/dockercfg" }, [
    "data[.dockercfg]",
    missing,
  ]),
  badSecret(
    "a docker configuration that is no JSON",
    { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64("{x") } },
    [
      "data[.dockerconfigjson]",
      invalidValue(
        "<secret contents redacted>",
        "invalid character 'x' looking for beginning of object key string",
      ),
    ],
  ),
  badSecret(
    "a basic authentication of nobody",
    { type: "kubernetes.io/basic-auth" },
    ["data[username]", missing],
    ["data[password]", missing],
  ),
  badSecret("an SSH authentication without a key", { type: "kubernetes.io/ssh-auth" }, [
    "data[ssh-privatekey]",
    missing,
  ]),
  badSecret(
    "a TLS secret without a certificate",
    { type: "kubernetes.io/tls" },
    ["data[tls.crt]", missing],
    ["data[tls.key]", missing],
  ),
  {
    situation: "a secret's type never changes",
    before: (name) => [made(secrets, { metadata: { name } })],
    request: (name) => merged(`${secrets}/${name}`, { type: "other" }),
    outcome: (name) => invalid("Secret", name, ["type", invalidValue("other", "field is immutable")]),
  },
  {
    situation: "an immutable secret",
    before: (name) => [made(secrets, { metadata: { name }, immutable: true })],
    request: (name) => merged(`${secrets}/${name}`, { stringData: { a: "b" } }),
    outcome: (name) => invalid("Secret", name, ["data", whenImmutable]),
  },
];

const accountRules: Case[] = [
  {
    situation: "of a service account's secrets only the names are kept",
    request: (name) =>
      made(serviceAccounts, { metadata: { name }, secrets: [{ name: "a", namespace: "b", kind: "c" }] }),
    outcome: () => ({ code: 201, body: { secrets: [{ name: "a" }] } }),
  },
  {
    situation: "a deprecated annotation of a service account: a warning",
    request: (name) =>
      made(serviceAccounts, {
        metadata: { name, annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } },
      }),
    outcome: () => ({
      code: 201,
      headers: {
        warning:
          '299 - "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer ' +
          'separate namespaces to isolate access to mounted secrets"',
      },
    }),
  },
  {
    situation: "a service account's name",
    request: () => made(serviceAccounts, { metadata: { name: "A" } }),
    outcome: () => invalid("ServiceAccount", "A", ["metadata.name", invalidValue("A", badSubdomain)]),
  },
  {
    situation: "a deleted service account is answered as it was",
    before: (name) => [made(serviceAccounts, { metadata: { name } })],
    request: (name) => ({ method: "DELETE", path: `${serviceAccounts}/${name}` }),
    outcome: (name) => ({ code: 200, body: { kind: "ServiceAccount", metadata: { name } } }),
  },
];

function finalize(name: string, rest: object): Sent {
  return { method: "PUT", path: `${namespaces}/${name}/finalize`, body: { metadata: { name }, ...rest } };
}

const namespaceRules: Case[] = [
  {
    situation: "a namespace is labelled with its name, and has its finalizer besides others",
    request: (name) =>
      made(namespaces, {
        metadata: { name, labels: { "kubernetes.io/metadata.name": "other" } },
        spec: { finalizers: ["example.com/x"] },
        status: { phase: "Terminating" },
      }),
    outcome: (name) => ({
      code: 201,
      body: {
        metadata: { labels: { "kubernetes.io/metadata.name": name } },
        spec: { finalizers: ["example.com/x", "kubernetes"] },
        status: { phase: "Active" },
      },
    }),
  },
  {
    situation: "a namespace's spec and status are not written with it",
    before: (name) => [made(namespaces, { metadata: { name } })],
    request: (name) => ({
      method: "PUT",
      path: `${namespaces}/${name}`,
      body: { metadata: { name }, spec: {}, status: { phase: "Terminating" } },
    }),
    outcome: () => ({
      code: 200,
      body: { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } },
    }),
  },
  {
    situation: "a namespace that is not deleted is not Terminating",
    before: (name) => [made(namespaces, { metadata: { name } })],
    request: (name) => merged(`${namespaces}/${name}/status`, { status: { phase: "Terminating" } }),
    outcome: (name) =>
      invalid("Namespace", name, [
        "status.Phase",
        invalidValue("Terminating", "may only be 'Active' if `deletionTimestamp` is empty"),
      ]),
  },
  {
    situation: "nothing new in a namespace that is being deleted",
    before: (name) => [
      made(namespaces, { metadata: { name } }),
      { method: "DELETE", path: `${namespaces}/${name}` },
    ],
    request: (name) => made(`${namespaces}/${name}/configmaps`, { metadata: { name: "x" } }),
    outcome: (name) =>
      failure(
        403,
        "Forbidden",
        `configmaps "x" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
        {
          name: "x",
          kind: "configmaps",
          causes: [
            {
              reason: "NamespaceTerminating",
              message: `namespace ${name} is being terminated`,
              field: "metadata.namespace",
            },
          ],
        },
      ),
  },
  {
    situation: "a namespace's finalizers have names",
    before: (name) => [made(namespaces, { metadata: { name } })],
    request: (name) => finalize(name, { spec: { finalizers: ["a b", "c"] } }),
    outcome: (name) =>
      invalid(
        "Namespace",
        name,
        ["spec.finalizers[0]", invalidValue("a b", badName)],
        [
          "spec.finalizers[0]",
          invalidValue("a b", "name is neither a standard finalizer name nor is it fully qualified"),
        ],
        [
          "spec.finalizers[1]",
          invalidValue("c", "name is neither a standard finalizer name nor is it fully qualified"),
        ],
      ),
  },
  {
    situation: "a finalised namespace is gone",
    before: (name) => [
      made(namespaces, { metadata: { name } }),
      { method: "DELETE", path: `${namespaces}/${name}` },
      finalize(name, { spec: {} }),
    ],
    request: (name) => ({ path: `${namespaces}/${name}` }),
    outcome: (name) => failure(404, "NotFound", `namespaces "${name}" not found`),
  },
  {
    situation: "another uid in the precondition of a namespace's deletion",
    before: (name) => [made(namespaces, { metadata: { name } })],
    request: (name) => ({
      method: "DELETE",
      path: `${namespaces}/${name}`,
      body: { preconditions: { uid: "other" } },
    }),
    outcome: (name, last) =>
      failure(
        409,
        "Conflict",
        `Operation cannot be fulfilled on namespaces "${name}": Precondition failed: UID in precondition: other, ` +
          `UID in object meta: ${last.body.metadata.uid}`,
      ),
  },
];

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const clusterRoles = `${rbac}/clusterroles`;
const clusterRoleBindings = `${rbac}/clusterrolebindings`;
const group = "rbac.authorization.k8s.io";
const kindOf = (kind: string) => `${kind}.${group}`;

const rbacRules: Case[] = [
  refused(
    "rules that allow nothing",
    clusterRoles,
    kindOf("ClusterRole"),
    { rules: [{}] },
    ["rules[0].verbs", "Required value: verbs must contain at least one value"],
    ["rules[0].apiGroups", "Required value: resource rules must supply at least one api group"],
    ["rules[0].resources", "Required value: resource rules must supply at least one resource"],
  ),
  refused(
    "paths and resources in one rule",
    clusterRoles,
    kindOf("ClusterRole"),
    { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"], resources: ["y"] }] },
    [
      "rules[0].nonResourceURLs",
      'Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
  ),
  refused(
    "paths in a role of a namespace",
    `${rbac}/namespaces/default/roles`,
    kindOf("Role"),
    { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
    ["rules[0].nonResourceURLs", 'Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
  ),
  refused("an aggregation of nothing", clusterRoles, kindOf("ClusterRole"), { aggregationRule: {} }, [
    "aggregationRule.clusterRoleSelectors",
    "Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
  ]),
  {
    situation: "a role without rules says so",
    request: (name) => made(clusterRoles, { metadata: { name } }),
    outcome: () => ({ code: 201, body: { rules: null } }),
  },
  {
    situation: "a role's name may have colons and capitals",
    request: (name) => made(clusterRoles, { metadata: { name: `A:${name} x` } }),
    outcome: (name) => ({ code: 201, body: { metadata: { name: `A:${name} x` } } }),
  },
  {
    situation: "a role's name is a part of a path",
    request: () => made(clusterRoles, { metadata: { name: "a/b" } }),
    outcome: () =>
      invalid(kindOf("ClusterRole"), "a/b", ["metadata.name", invalidValue("a/b", "may not contain '/'")]),
  },
  {
    situation: "a PUT makes a role that is not there",
    request: (name) => ({
      method: "PUT",
      path: `${clusterRoles}/${name}`,
      body: { metadata: { name, resourceVersion: "3" } },
    }),
    outcome: () => ({ code: 201 }),
  },
  {
    situation: "subjects and roleRef get their group",
    request: (name) =>
      made(clusterRoleBindings, {
        metadata: { name },
        roleRef: { kind: "ClusterRole", name: "x", apiGroup: "" },
        subjects: [
          { kind: "User", name: "u" },
          { kind: "ServiceAccount", name: "s", namespace: "n" },
        ],
      }),
    outcome: () => ({
      code: 201,
      body: {
        roleRef: { apiGroup: group, kind: "ClusterRole", name: "x" },
        subjects: [
          { kind: "User", apiGroup: group, name: "u" },
          { kind: "ServiceAccount", name: "s", namespace: "n" },
        ],
      },
    }),
  },
  refused(
    "a binding of nobody to nothing",
    clusterRoleBindings,
    kindOf("ClusterRoleBinding"),
    { subjects: [{}] },
    ["roleRef.kind", 'Unsupported value: "": supported values: "ClusterRole"'],
    ["roleRef.name", "Required value"],
    ["subjects[0].name", "Required value"],
    ["subjects[0].kind", 'Unsupported value: "": supported values: "ServiceAccount", "User", "Group"'],
  ),
  refused(
    "subjects of other groups",
    `${rbac}/namespaces/default/rolebindings`,
    kindOf("RoleBinding"),
    {
      roleRef: { kind: "Role", name: "x" },
      subjects: [
        { kind: "ServiceAccount", name: "s", apiGroup: "x" },
        { kind: "Group", name: "g", apiGroup: "x" },
      ],
    },
    ["subjects[0].apiGroup", 'Unsupported value: "x": supported values: ""'],
    ["subjects[1].apiGroup", `Unsupported value: "x": supported values: "${group}"`],
  ),
  {
    situation: "a binding's role never changes",
    before: (name) => [
      made(clusterRoleBindings, { metadata: { name }, roleRef: { kind: "ClusterRole", name: "x" } }),
    ],
    request: (name) => merged(`${clusterRoleBindings}/${name}`, { roleRef: { name: "y" } }),
    outcome: (name) =>
      invalid(kindOf("ClusterRoleBinding"), name, [
        "roleRef",
        `Invalid value: {"APIGroup":"${group}","Kind":"ClusterRole","Name":"y"}: cannot change roleRef`,
      ]),
  },
  refused("a role's labels", clusterRoles, kindOf("ClusterRole"), { metadata: { labels: { a: "-" } } }, [
    "metadata.labels",
    invalidValue("-", badValue),
  ]),
];

export const objectRules: Case[] = [
  ...leaseRules,
  ...configMapRules,
  ...secretRules,
  ...accountRules,
  ...namespaceRules,
  ...rbacRules,
];
