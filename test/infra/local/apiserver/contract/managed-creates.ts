// Lists the owners of a new object's fields, by kind, which the embedded and a real apiserver must record alike.
import { leases, node, nodes } from "./case.ts";
import { core, create, patch, rbac, updated, type Writes } from "./ownership.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u" };

const policySpec = {
  matchConstraints: {
    resourceRules: [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["bindings"] },
    ],
  },
  validations: [{ expression: "true" }],
  variables: [{ name: "a", expression: "1" }],
};
const ofPolicySpec = {
  "f:failurePolicy": {},
  "f:matchConstraints": {},
  "f:validations": {},
  "f:variables": { ".": {}, 'k:{"name":"a"}': {} },
};

export const creates: Writes[] = [
  {
    situation: "a created Node's metadata and spec belong to who created it, its status to nobody",
    writes: (name) => [
      create(
        nodes,
        node(
          name,
          {
            spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] },
            status: { capacity: { cpu: "1" } },
          },
          { labels: { a: "b" }, finalizers: ["x/y"] },
        ),
      ),
    ],
    owners: () => [
      updated("test", {
        "f:metadata": {
          "f:finalizers": { ".": {}, 'v:"x/y"': {} },
          "f:labels": { ".": {}, "f:a": {} },
        },
        "f:spec": { "f:podCIDR": {}, "f:podCIDRs": { ".": {}, 'v:"10.0.0.0/24"': {} } },
      }),
    ],
  },
  {
    situation: "of a Node with nothing but a name nobody owns anything, then and later",
    writes: (name) => [
      create(nodes, node(name)),
      patch(`${nodes}/${name}`, "m", { spec: { providerID: "p" } }),
    ],
    owners: () => [],
  },
  {
    situation: "a taint list is owned as a whole, and so are owner references, each",
    writes: (name) => [
      create(
        nodes,
        node(name, { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }, { ownerReferences: [owner] }),
      ),
    ],
    owners: () => [
      updated("test", {
        "f:metadata": { "f:ownerReferences": { ".": {}, 'k:{"uid":"u"}': {} } },
        "f:spec": { "f:taints": {} },
      }),
    ],
  },
  {
    situation: "a lease",
    writes: (name) => [
      create(leases, { metadata: { name }, spec: { holderIdentity: "h", leaseTransitions: 0 } }),
    ],
    owners: () => [
      updated(
        "test",
        { "f:spec": { "f:holderIdentity": {}, "f:leaseTransitions": {} } },
        { apiVersion: "coordination.k8s.io/v1" },
      ),
    ],
  },
  {
    situation: "an event: times that it does not have are nobody's",
    writes: (name) => [
      create(`${core}/events`, {
        metadata: { name },
        involvedObject: { kind: "Node", name },
        reason: "R",
        count: 1,
        source: { component: "c" },
        firstTimestamp: "2026-01-01T00:00:00Z",
      }),
    ],
    owners: () => [
      updated("test", {
        "f:count": {},
        "f:firstTimestamp": {},
        "f:involvedObject": {},
        "f:reason": {},
        "f:source": { "f:component": {} },
      }),
    ],
  },
  {
    situation: "a namespace gets its label with its creation",
    writes: (name) => [create("/api/v1/namespaces", { metadata: { name } })],
    owners: () => [
      updated("test", { "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/metadata.name": {} } } }),
    ],
  },
  {
    situation: "a service account: secrets by name, pull secrets as a whole",
    writes: (name) => [
      create(`${core}/serviceaccounts`, {
        metadata: { name },
        automountServiceAccountToken: false,
        secrets: [{ name: "a" }],
        imagePullSecrets: [{ name: "b" }],
      }),
    ],
    owners: () => [
      updated("test", {
        "f:automountServiceAccountToken": {},
        "f:imagePullSecrets": {},
        "f:secrets": { ".": {}, 'k:{"name":"a"}': {} },
      }),
    ],
  },
  {
    situation: "a role's rules",
    writes: (name) => [
      create(`${rbac}/clusterroles`, {
        metadata: { name },
        rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }],
      }),
    ],
    owners: () => [updated("test", { "f:rules": {} }, { apiVersion: "rbac.authorization.k8s.io/v1" })],
  },
  {
    situation: "a role binding",
    writes: (name) => [
      create(`${rbac}/clusterrolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "none" },
        subjects: [{ kind: "User", name: "u" }],
      }),
    ],
    owners: () => [
      updated("test", { "f:roleRef": {}, "f:subjects": {} }, { apiVersion: "rbac.authorization.k8s.io/v1" }),
    ],
  },
  {
    situation: "an admission policy, with its defaults",
    writes: (name) => [create(policies, { metadata: { name }, spec: policySpec })],
    owners: () => [
      updated("test", { "f:spec": ofPolicySpec }, { apiVersion: "admissionregistration.k8s.io/v1" }),
    ],
  },
];
