// Whose Node it is: what others keep alive is not written, what is offered is adopted, what may not be made is awaited.
import { describe, expect, it } from "vitest";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import { tickingMachine } from "../worker/support/kube-in-between.ts";
import { facts, kube } from "../worker/support/machine.ts";

const REGISTERED = { phase: "registered", ready: true };
const TAKEN = { phase: "name taken", ready: false };
const WAITING = { phase: "waiting for Node", ready: false };
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const NODES = "/api/v1/nodes";

const nodePath = (name: string) => `${NODES}/${name}`;
const leasePath = (name: string) => `${LEASES}/${name}`;
const getNode = (name: string) => kube("GET", nodePath(name));
const getLease = (name: string) => kube<Lease>("GET", leasePath(name));

const owned = (manager: string, fieldsV1: object) => [
  { manager, operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 },
];
const renewedBy = (manager: string) => owned(manager, { "f:spec": { "f:renewTime": {} } });
const heartbeatBy = (manager: string) =>
  owned(manager, {
    "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { "f:lastHeartbeatTime": {} } } },
  });

type Ticking = ReturnType<typeof tickingMachine>;

async function steady(name: string) {
  const machine = tickingMachine(name);
  await machine.report();
  machine.nowMs += 10_000;
  expect(await machine.report()).toMatchObject(REGISTERED);
  machine.nowMs += 10_000;
  machine.events = [];
  return machine;
}

/** What the apiserver answers to GETs of a path, changed. */
function changed(machine: Ticking, path: string, change: (found: Lease & Node) => unknown): void {
  machine.inBetween = async (method, asked, ask) =>
    method === "GET" && asked === path
      ? Response.json(change(await (await ask()).json<Lease & Node>()))
      : undefined;
}

/** Another writer renews the lease: ours conflicts, and reads it. */
async function renewedByAnother(machine: Ticking, name: string, manager: string, renewedMs: number) {
  const lease = await getLease(name);
  const renewTime = new Date(renewedMs).toISOString().replace("Z", "000Z");
  await kube("PUT", leasePath(name), { ...lease, spec: { ...lease.spec, renewTime } });
  changed(machine, leasePath(name), (found) => ({
    ...found,
    metadata: { ...found.metadata, managedFields: renewedBy(manager) },
  }));
}

const writes = ({ requests }: Ticking) => requests.filter((request) => /^(POST|PATCH|DELETE)/.test(request));

describe("a lease that another field manager renews", () => {
  it("→ name taken: nothing is written, one look a minute, and once it is old → registered", async () => {
    const name = "foreign-lease";
    const machine = await steady(name);
    await renewedByAnother(machine, name, "kubelet", machine.nowMs);
    const [node, lease] = [await getNode(name), await getLease(name)];
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.events).toEqual(["NodeNameTaken"]);
    expect(writes(machine)).toEqual([]);

    machine.nowMs += 30_000;
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.requests).toEqual([]);
    expect([await getNode(name), await getLease(name)]).toEqual([node, lease]);

    machine.nowMs += 30_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it("that goes on → a look is two GETs, said once", async () => {
    const name = "foreign-lease-on";
    const machine = await steady(name);
    await renewedByAnother(machine, name, "kubelet", machine.nowMs);
    await machine.report();
    machine.nowMs += 60_000;
    await renewedByAnother(machine, name, "kubelet", machine.nowMs);
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.requests).toEqual([`GET ${nodePath(name)}`, `GET ${leasePath(name)}`]);
    expect(machine.events).toEqual(["NodeNameTaken"]);
  });

  it("after an eviction → seen by the GET that a cold object makes", async () => {
    const name = "foreign-lease-cold";
    const machine = await steady(name);
    await renewedByAnother(machine, name, "kubelet", machine.nowMs);
    machine.evict();
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.requests).toEqual([`GET ${leasePath(name)}`]);
  });

  it("when the shim starts → the Node is not reconciled", async () => {
    const name = "foreign-lease-start";
    const machine = await steady(name);
    await renewedByAnother(machine, name, "kubelet", machine.nowMs);
    expect(await machine.report(undefined, "start-2")).toEqual(TAKEN);
    expect(machine.requests.filter((request) => /^(PUT|PATCH)/.test(request))).toEqual([]);
  });

  it.each([
    ["a moment younger than its duration", "kubelet", 39_999, TAKEN],
    ["as old as its duration", "kubelet", 40_000, REGISTERED],
    ["ahead of this clock", "kubelet", -90_000, TAKEN],
    ["of the same deployment", "rollcall.rollcall", 0, REGISTERED],
    ["of another deployment", "rollcall.other", 0, TAKEN],
  ])("%s, by %s", async (_, manager, ageMs, outcome) => {
    const name = `foreign-lease-${manager.replaceAll(".", "-")}${ageMs}`;
    const machine = await steady(name);
    await renewedByAnother(machine, name, manager, machine.nowMs - ageMs);
    expect(await machine.report()).toMatchObject(outcome);
  });
});

describe("the heartbeat of an owned Node", () => {
  const beaten = async (name: string, manager: string, byMs: number) => {
    const machine = await steady(name);
    machine.nowMs += 460_000;
    changed(machine, nodePath(name), (found) => ({
      ...found,
      metadata: { ...found.metadata, managedFields: heartbeatBy(manager) },
      status: {
        ...found.status,
        conditions: found.status?.conditions?.map((condition) => ({
          ...condition,
          lastHeartbeatTime: new Date(Date.parse(condition.lastHeartbeatTime ?? "") + byMs).toISOString(),
        })),
      },
    }));
    return machine;
  };

  it.each([
    ["written by a kubelet since → name taken", "kubelet", 1000, TAKEN],
    ["last written by a kubelet, but known → written", "kubelet", 0, REGISTERED],
    ["written by this deployment → written", "rollcall.rollcall", 1000, REGISTERED],
  ])("%s", async (_, manager, byMs, outcome) => {
    const machine = await beaten(`beaten-${manager.replaceAll(".", "-")}-${byMs}`, manager, byMs);
    expect(await machine.report()).toMatchObject(outcome);
  });
});

describe("a Node that is not ours", () => {
  const foreign = (name: string, metadata: object = {}, spec: object = {}) =>
    kube("POST", NODES, { apiVersion: "v1", kind: "Node", metadata: { name, ...metadata }, spec });
  const OFFERED = { annotations: { "rollcall.dev/adopt": "rollcall", kept: "yes" } };

  it("→ name taken, and at most one look a minute", async () => {
    const machine = tickingMachine("not-ours");
    await foreign("not-ours");
    expect(await machine.report()).toEqual(TAKEN);
    machine.nowMs += 59_999;
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.requests).toEqual([]);
    machine.nowMs += 1;
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.requests).toEqual([`GET ${nodePath("not-ours")}`]);
    await kube("DELETE", nodePath("not-ours"));
    machine.nowMs += 60_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it("but offered → adopted: owner, taint beside those it had, and reconciled", async () => {
    const name = "offered";
    const machine = tickingMachine(name);
    const taint = { key: "example.com/other", value: "x", effect: "NoSchedule" };
    const { metadata } = await foreign(name, OFFERED, { taints: [taint] });
    expect(await machine.report()).toMatchObject(REGISTERED);
    const node = await getNode(name);
    expect(node.metadata?.uid).toBe(metadata?.uid);
    expect(node.metadata?.annotations).toMatchObject({ "rollcall.dev/owner": "rollcall", kept: "yes" });
    expect(node.metadata?.annotations).not.toHaveProperty(["rollcall.dev/adopt"]);
    expect(node.metadata?.labels).toMatchObject({ "kubernetes.io/hostname": name });
    expect(node.spec?.taints).toContainEqual(taint);
    expect(node.spec?.taints).toContainEqual({ key: "rollcall.dev/facts-only", effect: "NoSchedule" });
  });

  it("offered to another deployment → name taken", async () => {
    const machine = tickingMachine("offered-else");
    await foreign("offered-else", { annotations: { "rollcall.dev/adopt": "other" } });
    expect(await machine.report()).toEqual(TAKEN);
  });

  it("offered, but its lease is still there → name taken; deleted → adopted", async () => {
    const name = "offered-leased";
    const machine = tickingMachine(name);
    await foreign(name, OFFERED);
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" };
    await kube("POST", LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name },
      spec,
    });
    expect(await machine.report()).toEqual(TAKEN);
    await kube("DELETE", leasePath(name));
    machine.nowMs += 60_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it("offered, and changed before it was adopted → not written over; the next attempt adopts", async () => {
    const name = "offered-changed";
    const machine = tickingMachine(name);
    await foreign(name, OFFERED);
    machine.inBetween = async (method, path, ask) => {
      if (method !== "GET" || path !== nodePath(name)) return undefined;
      const read = await ask();
      const node = await getNode(name);
      await kube("PUT", nodePath(name), { ...node, spec: { ...node.spec, unschedulable: true } });
      return read;
    };
    expect(await machine.report()).toMatchObject({ phase: "apiserver refuses" });
    expect((await getNode(name)).metadata?.annotations).toMatchObject(OFFERED.annotations);
    machine.inBetween = undefined;
    machine.nowMs += 1000;
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect((await getNode(name)).spec?.unschedulable).toBe(true);
  });
});

describe("registerNode: false", () => {
  function waiting(name: string) {
    const machine = tickingMachine(name);
    const { settings } = facts(name);
    machine.setFacts({ settings: { ...settings, registerNode: false } });
    return machine;
  }
  const ours = (name: string) =>
    kube("POST", NODES, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, annotations: { "rollcall.dev/owner": "rollcall" } },
    });

  it("no Node → waited for, never made; once it is there → updated", async () => {
    const name = "never-made";
    const machine = waiting(name);
    for (let report = 0; report < 2; report++) {
      expect(await machine.report()).toEqual(WAITING);
      expect(machine.requests).toEqual([`GET ${nodePath(name)}`]);
      machine.nowMs += 10_000;
    }
    await ours(name);
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect((await getLease(name)).spec?.holderIdentity).toBe(name);
  });

  it("the Node deleted → waited for again, and another one is taken up", async () => {
    const name = "never-made-again";
    const machine = waiting(name);
    await ours(name);
    expect(await machine.report()).toMatchObject(REGISTERED);
    await kube("DELETE", nodePath(name));
    await kube("DELETE", leasePath(name));
    machine.nowMs += 10_000;
    expect(await machine.report()).toEqual(WAITING);
    await ours(name);
    machine.nowMs += 10_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });
});
