// What leases, ServiceAccounts, Namespaces and RBAC objects may look like, their defaults and their changes.
import type { Sent } from "../test-server.ts";
import { type Case, failure, invalid, leases, made, namespaces, refused, accounts } from "./case.ts";
import { badSubdomain, badValue, invalidValue } from "./texts.ts";

function merged(path: string, body: object): Sent {
  return { method: "PATCH", path, type: "merge", body };
}

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

const accountRules: Case[] = [
  {
    situation: "a service account's name",
    request: () => made(accounts, { metadata: { name: "A" } }),
    outcome: () => invalid("ServiceAccount", "A", ["metadata.name", invalidValue("A", badSubdomain)]),
  },
  {
    situation: "a deleted service account is answered as it was",
    before: (name) => [made(accounts, { metadata: { name } })],
    request: (name) => ({ method: "DELETE", path: `${accounts}/${name}` }),
    outcome: (name) => ({ code: 200, body: { kind: "ServiceAccount", metadata: { name } } }),
  },
];

const namespaceRules: Case[] = [
  {
    situation: "a namespace is labelled with its name, and Active",
    request: (name) =>
      made(namespaces, {
        metadata: { name, labels: { "kubernetes.io/metadata.name": "other" } },
        status: { phase: "Terminating" },
      }),
    outcome: (name) => ({
      code: 201,
      body: {
        metadata: { labels: { "kubernetes.io/metadata.name": name } },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Active" },
      },
    }),
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

export const objectRules: Case[] = [...leaseRules, ...accountRules, ...namespaceRules, ...rbacRules];
