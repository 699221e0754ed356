// Lists special updates and patches that the embedded and a real apiserver must answer alike: preconditions, fields
// that only the server sets, patches that cannot be applied.
import type { Received, Sent } from "../test-server.ts";
import {
  type Case,
  accounts,
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

/** Returns a PUT of the last seen Node with other metadata. */
function putWith(metadata: object) {
  return (name: string, last: Received): Sent => ({
    method: "PUT",
    path: `${nodes}/${name}`,
    body: { ...last.body, metadata: { ...last.body.metadata, ...metadata } },
  });
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
      return invalid("Node", name, cause);
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
      return invalid("Node", name, label, finalizer);
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
    before: (name) => [made(accounts, { metadata: { name } })],
    request: (name) => ({
      method: "PUT",
      path: `${accounts}/${name}`,
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

const isBadRequest = () => ({ code: 400, body: { reason: "BadRequest" } });
const isInvalid = () => ({ code: 422, body: { reason: "Invalid" } });

const badPatches: Case[] = [
  badPatch("a merge patch that is cut off", "merge", '{"spec":', isBadRequest),
  badPatch("a merge patch to a value of another type", "merge", { spec: { unschedulable: "x" } }, isInvalid),
  badPatch("a strategic merge patch that is no JSON", "strategic", "{bad", isBadRequest),
  badPatch("text for a list", "strategic", { spec: { taints: "x" } }, isInvalid),
  badPatch(
    "a quantity that is none",
    "strategic",
    { status: { capacity: { cpu: "x" } } },
    isInvalid,
    "/status",
  ),
];

export const updateRules: Case[] = [...preconditions, ...systemFields, ...badPatches];
