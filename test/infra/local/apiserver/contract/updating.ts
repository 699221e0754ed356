// Lists updates by PUT that the embedded and a real apiserver must answer alike: preconditions, and the fields that
// a path may write.
import { expect } from "vitest";
import { type Received, send, type TestServer } from "../test-server.ts";
import {
  type Case,
  created,
  createdLease,
  failure,
  lease,
  leases,
  modified,
  node,
  nodes,
  patched,
} from "./case.ts";

/** Makes and deletes a lease. Returns the lease as it was made. */
async function deletedLease(server: TestServer, name: string): Promise<Received> {
  const made = await send(server, {
    method: "POST",
    path: leases,
    body: lease(name, { holderIdentity: name }),
  });
  expect(made.code, made.text).toBe(201);
  expect(await send(server, { method: "DELETE", path: `${leases}/${name}` })).toMatchObject({ code: 200 });
  return made;
}

function renewed(server: TestServer, name: string, { body }: Received): Promise<Received> {
  const spec = { holderIdentity: name, renewTime: "2026-01-01T00:00:00.000001Z" };
  return send(server, { method: "PUT", path: `${leases}/${name}`, body: { ...body, spec } });
}

export const updating: Case[] = [
  {
    situation: "a PUT of a Node leaves its status alone",
    before: (name) => created(name, { status: { capacity: { cpu: "1" } } }),
    request: (name) => ({
      method: "PUT",
      path: `${nodes}/${name}`,
      body: node(name, { spec: { unschedulable: true } }),
    }),
    outcome: () => ({
      code: 200,
      body: { spec: { unschedulable: true }, status: { capacity: { cpu: "1" }, allocatable: { cpu: "1" } } },
    }),
  },
  {
    situation: "a PUT with an older resourceVersion",
    before: (name) => [...created(name), patched(name, "merge", { metadata: { labels: { a: "b" } } })],
    request: (name) => ({
      method: "PUT",
      path: `${nodes}/${name}`,
      body: node(name, {}, { resourceVersion: "1" }),
    }),
    outcome: (name) =>
      failure(409, "Conflict", `Operation cannot be fulfilled on nodes "${name}": ${modified}`, {
        name,
        kind: "nodes",
      }),
  },
  {
    situation: "a PUT with another uid",
    before: created,
    request: (name) => ({ method: "PUT", path: `${nodes}/${name}`, body: node(name, {}, { uid: "other" }) }),
    outcome: (name, last) =>
      failure(
        409,
        "Conflict",
        `Operation cannot be fulfilled on nodes "${name}": StorageError: invalid object, Code: 4, Key: ` +
          `/registry/minions/${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ` +
          `UID in precondition: other, UID in object meta: ${last.body.metadata.uid}`,
      ),
  },
  {
    situation: "a PUT under another name",
    before: created,
    request: (name) => ({ method: "PUT", path: `${nodes}/${name}`, body: node("other") }),
    outcome: (name) =>
      failure(
        400,
        "BadRequest",
        `the name of the object (other) does not match the name on the URL (${name})`,
      ),
  },
  {
    situation: "a PUT of a Node that is not there",
    request: (name) => ({ method: "PUT", path: `${nodes}/${name}`, body: node(name) }),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`, { name, kind: "nodes" }),
  },
  {
    situation: "a PUT of a lease that is not there creates it",
    request: (name) => ({
      method: "PUT",
      path: `${leases}/${name}`,
      body: lease(name, { holderIdentity: "", leaseTransitions: 0 }, { resourceVersion: "5" }),
    }),
    outcome: () => ({ code: 201, body: { spec: { holderIdentity: "", leaseTransitions: 0 } } }),
  },
  {
    situation: "a PUT of a lease with a uid that is not there",
    request: (name) => ({ method: "PUT", path: `${leases}/${name}`, body: lease(name, {}, { uid: "u" }) }),
    outcome: (name) =>
      failure(
        409,
        "Conflict",
        `Operation cannot be fulfilled on leases.coordination.k8s.io "${name}": StorageError: invalid object, ` +
          `Code: 4, Key: /registry/leases/kube-node-lease/${name}, ResourceVersion: 0, AdditionalErrorMsg: ` +
          "Precondition failed: UID in precondition: u, UID in object meta: ",
        { name, group: "coordination.k8s.io", kind: "leases" },
      ),
  },
  {
    situation: "a PUT of a lease that was deleted, with its uid and resourceVersion, does not bring it back",
    run: async (server, name) => {
      const old = await deletedLease(server, name);
      expect(await renewed(server, name, old)).toMatchObject(
        failure(
          409,
          "Conflict",
          `Operation cannot be fulfilled on leases.coordination.k8s.io "${name}": StorageError: invalid object, ` +
            `Code: 4, Key: /registry/leases/kube-node-lease/${name}, ResourceVersion: 0, AdditionalErrorMsg: ` +
            `Precondition failed: UID in precondition: ${old.body.metadata.uid}, UID in object meta: `,
        ),
      );
      expect(await send(server, { path: `${leases}/${name}` })).toMatchObject({ code: 404 });
    },
  },
  {
    situation: "a PUT of a lease that was deleted and made again, with its old uid, leaves the new one alone",
    run: async (server, name) => {
      const old = await deletedLease(server, name);
      const { body } = await send(server, { method: "POST", path: leases, body: lease(name, {}) });
      expect(await renewed(server, name, old)).toMatchObject({ code: 409, body: { reason: "Conflict" } });
      expect(await send(server, { path: `${leases}/${name}` })).toMatchObject({
        code: 200,
        body: { metadata: { uid: body.metadata.uid, resourceVersion: body.metadata.resourceVersion } },
      });
    },
  },
  {
    situation: "a PUT of a lease needs its resourceVersion",
    before: createdLease,
    request: (name) => ({ method: "PUT", path: `${leases}/${name}`, body: lease(name, {}) }),
    outcome: (name) =>
      failure(
        422,
        "Invalid",
        `leases.coordination.k8s.io "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: ` +
          "must be specified for an update",
      ),
  },
  {
    situation: "a PUT of a lease with its uid and resourceVersion renews it",
    before: createdLease,
    request: (name, last) => ({
      method: "PUT",
      path: `${leases}/${name}`,
      body: { ...last.body, spec: { holderIdentity: name, renewTime: "2026-01-01T00:00:00.000001Z" } },
    }),
    outcome: (name) => ({
      code: 200,
      body: { spec: { holderIdentity: name, renewTime: "2026-01-01T00:00:00.000001Z" } },
    }),
  },
  {
    situation: "a lease duration of zero",
    request: (name) => ({ method: "POST", path: leases, body: lease(name, { leaseDurationSeconds: 0 }) }),
    outcome: (name) =>
      failure(
        422,
        "Invalid",
        `Lease.coordination.k8s.io "${name}" is invalid: spec.leaseDurationSeconds: Invalid value: 0: ` +
          "must be greater than 0",
      ),
  },
  {
    situation: "a write that changes nothing keeps the resourceVersion",
    before: created,
    request: (name) => patched(name, "merge", {}),
    outcome: (_name, last) => ({
      code: 200,
      body: { metadata: { resourceVersion: last.body.metadata.resourceVersion } },
    }),
  },
];
