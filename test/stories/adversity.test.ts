// What other writers, failures and evictions at the wrong moment do to a machine's Node and lease.
import { describe, expect, it } from "vitest";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import { statusResponse, tickingMachine } from "../worker/support/kube-in-between.ts";
import { facts, HEALTHY, kube } from "../worker/support/machine.ts";

const GIB = 2 ** 30;
const UNDER_PRESSURE = {
  signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * GIB] as [number, number] },
};
const REGISTERED = { phase: "registered", ready: true };

const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const conditionOf = (node: Node, wanted: string) =>
  node.status?.conditions?.find(({ type }) => type === wanted)?.status;

/** Two reports, 10 s apart: registered, and quiet. */
async function steady(name: string) {
  const machine = tickingMachine(name);
  expect(await machine.report()).toMatchObject(REGISTERED);
  machine.nowMs += 10_000;
  expect(await machine.report()).toMatchObject(REGISTERED);
  machine.nowMs += 10_000;
  machine.records.writes = 0;
  return machine;
}

/** What the node controller does to a Node that it has not heard of. */
async function setUnknown(name: string): Promise<void> {
  const node = await kube("GET", nodePath(name));
  const conditions = node.status?.conditions?.map((condition) => ({ ...condition, status: "Unknown" }));
  await kube("PUT", `${nodePath(name)}/status`, { ...node, status: { ...node.status, conditions } });
}

const recreated = async (name: string, annotations: Record<string, string> = {}) => {
  await kube("DELETE", nodePath(name));
  return kube("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name, annotations } });
};

describe("an object that is evicted before every report", () => {
  it("→ two requests each, no row; the status is written when its time has come, and its lease carries that", async () => {
    const name = "always-cold";
    const machine = await steady(name);
    const writes: number[] = [];
    for (let beat = 0; beat < 60; beat++) {
      machine.evict();
      expect(await machine.report()).toMatchObject(REGISTERED);
      const isWritten = machine.requests.some((request) => request.startsWith("PATCH"));
      if (isWritten) writes.push(beat);
      else expect(machine.requests).toEqual([`GET ${leasePath(name)}`, `PUT ${leasePath(name)}`]);
      machine.nowMs += 10_000;
    }
    expect(writes).toEqual([28, 58]);
    expect(machine.records.writes).toBe(0);
  });
});

describe("a status whose time has come", () => {
  const WRITTEN = "PATCH /status";
  /** Reports until the status is written; returns what was asked then, without the Node's name. */
  const untilWritten = async (machine: Awaited<ReturnType<typeof steady>>, name: string) => {
    for (let beat = 0; beat < 40; beat++) {
      expect(await machine.report()).toMatchObject(REGISTERED);
      machine.nowMs += 10_000;
      const asked = machine.requests.map((request) =>
        request.replace(leasePath(name), "lease").replace(nodePath(name), ""),
      );
      if (asked.includes(WRITTEN)) return asked;
    }
    throw new Error("the status is never written");
  };

  it.each<[string, { gapMs?: number; isWatched?: boolean; leaseSeconds?: number }, string[]]>([
    ["is the heartbeat; read from the apiserver's cache", {}, ["GET ?resourceVersion=0", WRITTEN]],
    ["where others' changes are known → not read", { isWatched: true }, [WRITTEN]],
    [
      "under a lease that is too short to wait → it is renewed as well",
      { leaseSeconds: 29, isWatched: true },
      ["PUT lease", WRITTEN],
    ],
    [
      "after a gap of the lease → read for certain: the node controller may have spoken",
      { gapMs: 41_000, isWatched: true },
      ["PUT lease", "GET ", WRITTEN],
    ],
  ])("%s", async (situation, { gapMs = 10_000, isWatched = false, leaseSeconds = 40 }, asked) => {
    const name = `due-${gapMs}-${leaseSeconds}-${isWatched}`;
    const machine = await steady(name);
    const { settings } = facts(name);
    machine.setFacts({ settings: { ...settings, nodeLeaseDurationSeconds: leaseSeconds } });
    machine.isWatched = isWatched;
    for (let beat = 0; beat < 26; beat++) {
      expect(await machine.report(), situation).toMatchObject(REGISTERED);
      machine.nowMs += 10_000;
    }
    machine.nowMs += gapMs - 10_000;
    expect(await untilWritten(machine, name)).toEqual(asked);
  });

  it("with each report → the lease is renewed with every other one", async () => {
    const name = "always-due";
    const machine = await steady(name);
    machine.setFacts({ settings: { ...facts(name).settings, nodeStatusReportFrequencyMs: 10_000 } });
    machine.isWatched = true;
    const renewals: boolean[] = [];
    for (let beat = 0; beat < 8; beat++) {
      expect(await machine.report()).toMatchObject(REGISTERED);
      renewals.push(machine.requests.includes(`PUT ${leasePath(name)}`));
      machine.nowMs += 10_000;
    }
    for (const [index, isRenewed] of renewals.entries())
      if (!isRenewed) expect(renewals[index + 1]).not.toBe(false);
    expect(renewals).toContain(false);
  });

  it("that is refused → the lease is renewed with the same report", async () => {
    const name = "due-and-refused";
    const machine = await steady(name);
    machine.isWatched = true;
    machine.inBetween = (method) => (method === "PATCH" ? statusResponse(422, "Invalid") : undefined);
    let isTried = false;
    for (let beat = 0; beat < 40 && !isTried; beat++) {
      machine.nowMs += 10_000;
      await machine.report();
      isTried = machine.requests.some((request) => request.startsWith("PATCH"));
    }
    expect(isTried).toBe(true);
    expect(machine.requests.at(-1)).toBe(`PUT ${leasePath(name)}`);
  });
});

describe("a lease", () => {
  it("that somebody deleted → made again; the Node stays registered", async () => {
    const machine = await steady("lease-deleted");
    await kube("DELETE", leasePath("lease-deleted"));
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect((await kube<Lease>("GET", leasePath("lease-deleted"))).spec?.holderIdentity).toBe("lease-deleted");
  });

  it("whose namespace is missing → apiserver refuses, not node deleted", async () => {
    const machine = await steady("no-namespace");
    await kube("DELETE", leasePath("no-namespace"));
    machine.inBetween = (method) =>
      method === "POST"
        ? statusResponse(404, "NotFound", { details: { name: "kube-node-lease", kind: "namespaces" } })
        : undefined;
    expect(await machine.report()).toMatchObject({ phase: "apiserver refuses" });
    machine.inBetween = undefined;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it.each([
    ["warm", false],
    ["cold", true],
  ])("of another Node of this name, object %s → not renewed, nor is the Node written", async (heat, cold) => {
    const name = `lease-of-another-${heat}`;
    const machine = await steady(name);
    const node = await recreated(name, { "rollcall.dev/owner": "rollcall" });
    await kube("DELETE", leasePath(name));
    const owner = { apiVersion: "v1", kind: "Node", name, uid: node.metadata?.uid };
    const lease = await kube<Lease>("POST", `${leasePath("").slice(0, -1)}?fieldManager=rollcall.rollcall`, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, ownerReferences: [owner] },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: "2026-02-03T04:05:25.000000Z" },
    });
    if (cold) machine.evict();
    expect(await machine.report()).toMatchObject({ phase: "node deleted", ready: false });
    expect(await kube("GET", leasePath(name))).toEqual(lease);
    expect(await kube("GET", nodePath(name))).toEqual(node);
  });

  it("of a Node that was there before, not collected yet → taken over for the new one", async () => {
    const name = "lease-left-behind";
    const machine = await steady(name);
    await kube("DELETE", nodePath(name));
    machine.evict();
    expect(await machine.report(HEALTHY, "start-2")).toMatchObject(REGISTERED);
    const node = await kube("GET", nodePath(name));
    const lease = await kube<Lease>("GET", leasePath(name));
    expect(lease.metadata?.ownerReferences).toMatchObject([{ uid: node.metadata?.uid }]);
  });

  it("that vanishes during a conflict, its Node unread → never PUT without a resourceVersion", async () => {
    const name = "lease-vanishes";
    const machine = await steady(name);
    let puts = 0;
    let reads = 0;
    machine.inBetween = (method, path) => {
      if (method === "PUT" && ++puts === 1) return statusResponse(409, "Conflict");
      if (method === "GET" && path.includes("leases")) return statusResponse(404, "NotFound");
      if (method === "GET" && ++reads === 1) return statusResponse(500, "InternalError");
      return undefined;
    };
    await machine.report();
    expect(machine.requests.filter((request) => request.startsWith("PUT"))).toHaveLength(1);
  });

  it("goes on while a restarted shim cannot register", async () => {
    const name = "restart-refused";
    const machine = await steady(name);
    const before = await kube<Lease>("GET", leasePath(name));
    machine.inBetween = (method) => (method === "POST" ? statusResponse(500, "InternalError") : undefined);
    expect(await machine.report(HEALTHY, "start-2")).toMatchObject({ phase: "apiserver refuses" });
    expect((await kube<Lease>("GET", leasePath(name))).spec?.renewTime).not.toBe(before.spec?.renewTime);
  });
});

describe("a Node", () => {
  it("that was made anew by somebody else → node deleted, and the new one is not touched", async () => {
    const name = "made-anew";
    const machine = await steady(name);
    const node = await recreated(name);
    expect(await machine.report(UNDER_PRESSURE)).toMatchObject({ phase: "node deleted", ready: false });
    expect(await kube("GET", nodePath(name))).toEqual(node);
  });

  it("that lost its owner → name taken, and neither it nor its lease is written; given back → registered", async () => {
    const name = "owner-lost";
    const machine = await steady(name);
    const node = await kube("GET", nodePath(name));
    const annotations = { ...node.metadata?.annotations };
    await kube("PUT", nodePath(name), { ...node, metadata: { ...node.metadata, annotations: {} } });
    machine.nowMs += 460_000;
    expect(await machine.report()).toMatchObject({ phase: "name taken", ready: false });
    const taken = await kube("GET", nodePath(name));
    const lease = await kube("GET", leasePath(name));
    expect(taken.status).toEqual(node.status);
    machine.nowMs += 10_000;
    expect(await machine.report()).toMatchObject({ phase: "name taken", ready: false });
    expect(await kube("GET", leasePath(name))).toEqual(lease);
    await kube("PUT", nodePath(name), { ...taken, metadata: { ...taken.metadata, annotations } });
    machine.nowMs += 50_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it.each([
    ["", false],
    [", and the object evicted", true],
  ])(
    "set Unknown in a silence, the write after it refused%s → written with the next report",
    async (_, cold) => {
      const name = `after-silence-${cold ? "cold" : "warm"}`;
      const machine = await steady(name);
      await setUnknown(name);
      machine.nowMs += 60_000;
      machine.inBetween = (method) => (method === "PATCH" ? statusResponse(500, "InternalError") : undefined);
      expect(await machine.report()).toMatchObject({ phase: "apiserver refuses" });
      machine.inBetween = undefined;
      machine.nowMs += 10_000;
      if (cold) machine.evict();
      expect(await machine.report()).toMatchObject(REGISTERED);
      expect(conditionOf(await kube("GET", nodePath(name)), "Ready")).toBe("True");
    },
  );

  it("whose write was applied but not answered → what changes back is written, too", async () => {
    const name = "answer-lost";
    const machine = await steady(name);
    machine.inBetween = (method, _, ask) =>
      method === "PATCH" ? ask().then(() => statusResponse(500, "InternalError")) : undefined;
    await machine.report({ ...HEALTHY, errors: { runtime: ["down"] } });
    expect(conditionOf(await kube("GET", nodePath(name)), "Ready")).toBe("False");
    machine.inBetween = undefined;
    machine.evict();
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(conditionOf(await kube("GET", nodePath(name)), "Ready")).toBe("True");
  });
});

describe("a pressure that goes on", () => {
  it("writes no row", async () => {
    const machine = await steady("pressure-rows");
    await machine.report(UNDER_PRESSURE);
    machine.nowMs += 10_000;
    await machine.report(UNDER_PRESSURE);
    machine.records.writes = 0;
    for (let report = 0; report < 5; report++) {
      machine.nowMs += 10_000;
      await machine.report(UNDER_PRESSURE);
    }
    expect(machine.records.writes).toBe(0);
  });

  it.each([
    ["warm", false],
    ["evicted before it is over", true],
  ])("and is over %s → holds for 5 minutes after the last report of it, not longer", async (heat, cold) => {
    const name = `pressure-over-${heat.slice(0, 4)}`;
    const machine = await steady(name);
    for (let report = 0; report < 40; report++) {
      await machine.report(UNDER_PRESSURE);
      machine.nowMs += 10_000;
    }
    const lastMetMs = machine.nowMs - 10_000;
    if (cold) machine.evict();
    await machine.report();
    for (; machine.nowMs < lastMetMs + 290_000; machine.nowMs += 10_000) await machine.report();
    expect(conditionOf(await kube("GET", nodePath(name)), "MemoryPressure")).toBe("True");
    machine.nowMs = lastMetMs + 300_000;
    await machine.report();
    expect(conditionOf(await kube("GET", nodePath(name)), "MemoryPressure")).toBe("False");
  });
});

describe("a clock that goes back", () => {
  it("by a day → the status is written once, and the periods go on", async () => {
    const machine = await steady("clock-back");
    machine.nowMs -= 86_400_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(machine.requests.at(-1)).toBe(`PATCH ${nodePath("clock-back")}/status`);
    machine.nowMs += 10_000;
    await machine.report();
    expect(machine.requests).toEqual([`PUT ${leasePath("clock-back")}`]);
  });
});
