// Tests the requests of one sync of a lease, and when the sync stops.
import { describe, expect, it } from "vitest";
import { formatMicroTime, parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import { success } from "../../../shared/result.ts";
import { type LeaseSteps, syncLease } from "../../../worker/tick/sync-lease.ts";
import { createFakeApiserver } from "../../vectors/fake-apiserver.ts";

const NOW = parseMicroTime("2026-03-14T15:09:26Z");

function setup(overrides: Partial<LeaseSteps> = {}) {
  const server = createFakeApiserver(true);
  server.store("nodes", { metadata: { name: "node-1", uid: "node-uid" } });
  const steps: LeaseSteps = {
    client: server.client,
    options: {
      leaseName: "node-1",
      leaseNamespace: "kube-node-lease",
      holderIdentity: "node-1",
      leaseDurationSeconds: 40,
    },
    renewTime: () => formatMicroTime(NOW),
    readOwner: () => server.client.getNode("node-1"),
    isNew: false,
    maxUpdates: 5,
    backOff: () => Promise.resolve(false),
    onRepeatedHeartbeatFailure: () => {},
    ...overrides,
  };
  const verbs = () => server.takeCalls().map(({ request }) => `${request.verb} ${request.resource}`);
  return { server, steps, verbs };
}

const conflict = { code: 409, reason: "Conflict", message: "the object has been modified" };
const unreachable = { network: "connection refused" };

describe("syncLease where it may not wait", () => {
  it("a lease in memory → one PUT", async () => {
    const { steps, verbs } = setup();
    const { latest } = await syncLease(steps, null);
    verbs();
    expect(await syncLease(steps, latest)).toMatchObject({ renewed: true, error: null });
    expect(verbs()).toEqual(["update leases"]);
  });

  it("the lease cannot be read → stops after one GET, with the reason", async () => {
    const { server, steps, verbs } = setup();
    server.force([unreachable]);
    expect(await syncLease(steps, null)).toEqual({
      latest: null,
      renewed: false,
      error: { kind: "unanswered", message: "connection refused" },
    });
    expect(verbs()).toEqual(["get leases"]);
  });

  it("a conflict, then no answer → no further write, and the lease stays in memory", async () => {
    const { server, steps, verbs } = setup();
    const { latest } = await syncLease(steps, null);
    verbs();
    server.force([conflict, unreachable]);
    expect(await syncLease(steps, latest)).toMatchObject({ latest, renewed: false });
    expect(verbs()).toEqual(["update leases", "get leases"]);
  });

  it("limited to one PUT, which fails → the lease is read, and PUT once more", async () => {
    const { server, steps, verbs } = setup({ maxUpdates: 1 });
    const { latest } = await syncLease(steps, null);
    verbs();
    server.force([unreachable]);
    expect(await syncLease(steps, latest)).toMatchObject({
      renewed: true,
      error: { message: "connection refused" },
    });
    expect(verbs()).toEqual(["update leases", "get leases", "update leases"]);
  });

  it("the owner is known → a missing lease costs two requests", async () => {
    const owner = { metadata: { name: "node-1", uid: "node-uid" } };
    const { steps, verbs } = setup({ readOwner: () => Promise.resolve(success(owner)) });
    expect(await syncLease(steps, null)).toMatchObject({
      renewed: true,
      latest: { metadata: { ownerReferences: [{ kind: "Node", uid: "node-uid" }] } },
    });
    expect(verbs()).toEqual(["get leases", "create leases"]);
  });
});
