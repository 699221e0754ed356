// Lists the rules for leases, ServiceAccounts and Namespaces, their defaults and their changes, which the embedded
// and a real apiserver must have alike.
import { type Case, failure, invalid, leases, made, namespaces, refused, accounts } from "./case.ts";
import { badSubdomain, invalidValue } from "./texts.ts";

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

export const objectRules: Case[] = [...leaseRules, ...accountRules, ...namespaceRules];
