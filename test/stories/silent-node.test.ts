// Tests the Node of a silent machine, as kubectl shows it: the Worker sets Ready to Unknown by its own alarm, with and
// without a node controller, and the machine's next report sets it to True.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Event, Lease, NodeCondition } from "../../shared/kubernetes/types.ts";
import { UNWATCHED_LABEL } from "../../shared/node/ownership.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { success } from "../../shared/result.ts";
import { currentMs, pause } from "../../worker/clock.ts";
import { ExpiredLeases } from "../../worker/cluster/expired-leases.ts";
import { ClusterObject } from "../../worker/cluster/cluster-object.ts";
import { pass, shift } from "../worker/support/clock.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  kube,
  requestsAbout,
  setFault,
  shimOf,
} from "../worker/support/machine.ts";

const LEASE_MS = 40_000;
const UNDER_PRESSURE: Vitals = {
  signals: { ...HEALTHY.signals, "memory.available": [50 * 2 ** 20, 8 * 2 ** 30] },
};
const objectOf = (name: string) => env.NODES.getByName(name);
const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const statusOf = (name: string) => `PATCH ${nodePath(name)}/status`;
const WORDS = /^The machine has not reported since 2100-01-01T\d\d:\d\d:\d\dZ\.$/;
const MARKED = { status: "Unknown", reason: "NodeStatusUnknown", message: expect.stringMatching(WORDS) };

const { MARK_SILENT_NODES } = env;
beforeAll(() => void Object.assign(env, { MARK_SILENT_NODES: "on" }));
afterAll(() => void Object.assign(env, { MARK_SILENT_NODES }));
afterEach(() => void vi.restoreAllMocks());

async function reporting(name: string, token: Record<string, unknown> = {}) {
  const report = shimOf(await enrolled(name, token));
  const send = () => report(facts(name), UNDER_PRESSURE);
  expect(await send()).toMatchObject({ ok: true, value: { phase: "registered", ready: true } });
  await runDurableObjectAlarm(objectOf(name));
  shift(10_000);
  await send();
  await requestsAbout(name);
  return send;
}

const kubectl = async (name: string, type = "Ready"): Promise<Partial<NodeCondition>> =>
  (await kube("GET", nodePath(name))).status?.conditions?.find((each) => each.type === type) ?? {};
const statusWrites = async (name: string) =>
  (await requestsAbout(name)).filter((each) => each === statusOf(name)).length;
const eventsOf = async (name: string) => {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  return (await kube<{ items: Event[] }>("GET", path)).items.map(({ reason }) => reason);
};
const alarmInMs = (name: string) =>
  runInDurableObject(
    objectOf(name),
    async (_, { storage }) => ((await storage.getAlarm()) ?? NaN) - Date.now(),
  );

/** Lets the machine be silent for a lease and a second, then rings the alarm of its object. */
async function fallsSilent(name: string): Promise<void> {
  shift(LEASE_MS + 1000);
  await runDurableObjectAlarm(objectOf(name));
}

/** Answers the next questions of machines' objects with these turns; then with 0. */
function turns(...answers: (number | null)[]) {
  const spy = vi.spyOn(ClusterObject.prototype, "silentNodeTurn");
  return spy.mockImplementation(() => (answers.length > 0 ? answers.shift()! : 0));
}

describe("a machine falls silent", () => {
  it("without a node controller → Ready Unknown by one patch, until its next report", async () => {
    const name = "silent-alone";
    const send = await reporting(name);
    const before = await kubectl(name);
    const pressure = await kubectl(name, "MemoryPressure");
    expect([before.status, pressure.status]).toEqual(["True", "True"]);
    await fallsSilent(name);
    const ready = await kubectl(name);
    expect(ready).toMatchObject(MARKED);
    expect(ready.lastHeartbeatTime).toBe(before.lastHeartbeatTime);
    expect(ready.lastTransitionTime).not.toBe(before.lastTransitionTime);
    expect(await kubectl(name, "MemoryPressure")).toEqual(pressure);
    expect(await statusWrites(name)).toBe(1);
    expect(await eventsOf(name)).toContain("NodeNotReady");
    shift(300_000);
    await runDurableObjectAlarm(objectOf(name));
    await evictDurableObject(objectOf(name));
    await runDurableObjectAlarm(objectOf(name));
    expect(await statusWrites(name)).toBe(0);
    expect(await send()).toMatchObject({ ok: true, value: { phase: "registered", ready: true } });
    expect(await kubectl(name)).toMatchObject({ status: "True", reason: "KubeletReady" });
    expect(await eventsOf(name)).toContain("NodeReady");
  });

  it("and its object is evicted → the same, by the lease", async () => {
    const name = "silent-evicted";
    await reporting(name);
    await evictDurableObject(objectOf(name));
    await fallsSilent(name);
    expect(await kubectl(name)).toMatchObject(MARKED);
  });

  it.each([
    ["with a node controller", true],
    ["without a node controller", false],
  ])(
    "%s, without a socket, and its object is evicted → the list of leases shows it within 45 s",
    async (_, isSeen) => {
      const name = `silent-http-${isSeen}`;
      const status = { isWatched: true, isSilenceSeen: isSeen };
      vi.spyOn(ClusterObject.prototype, "standing").mockResolvedValue(status);
      turns();
      await reporting(name);
      await evictDurableObject(objectOf(name));
      const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?labelSelector=${UNWATCHED_LABEL}%3Drollcall`;
      const leases = new ExpiredLeases({
        list: async () => success(await kube<{ items: Lease[] }>("GET", path)),
        notify: (each) => (each === name ? objectOf(name).leaseExpired() : Promise.resolve(true)),
        log: () => undefined,
        nowMs: currentMs,
        pause,
        timer: undefined,
      });
      const over = new AbortController();
      const watching = leases.watch(over.signal);
      for (let seconds = 0; seconds < 45 && (await kubectl(name)).status === "True"; seconds++)
        await pass(1000);
      over.abort();
      await watching;
      expect(await kubectl(name)).toMatchObject(MARKED);
      expect(await statusWrites(name)).toBe(1);
    },
  );

  it("after a node controller has set Ready to Unknown → no second write", async () => {
    const name = "silent-controlled";
    await reporting(name);
    const node = await kube("GET", nodePath(name));
    const conditions = node.status?.conditions?.map((each) =>
      each.type === "Ready"
        ? {
            ...each,
            status: "Unknown",
            reason: "NodeStatusUnknown",
            message: "Kubelet stopped posting node status.",
          }
        : each,
    );
    const path = `${nodePath(name)}/status?fieldManager=kube-controller-manager`;
    await kube("PUT", path, { ...node, status: { ...node.status, conditions } });
    await fallsSilent(name);
    expect(await kubectl(name)).toMatchObject({ message: "Kubelet stopped posting node status." });
  });

  it("and its Node runs pods → the node controller alone may change it", async () => {
    const name = "silent-with-pods";
    const report = shimOf(await enrolled(name, { withoutFactsOnlyTaint: true }));
    const { settings } = facts(name);
    const own = facts(name, { settings: { ...settings, registerWithTaints: [] } });
    expect(await report(own, HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
    await requestsAbout(name);
    await fallsSilent(name);
    expect(await kubectl(name)).toMatchObject({ status: "True" });
    expect(await statusWrites(name)).toBe(0);
  });

  it("and MARK_SILENT_NODES is off → no write", async () => {
    const name = "silent-off";
    await reporting(name);
    Object.assign(env, { MARK_SILENT_NODES: "off" });
    await fallsSilent(name);
    Object.assign(env, { MARK_SILENT_NODES: "on" });
    expect(await kubectl(name)).toMatchObject({ status: "True" });
  });
});

describe("a silent machine's Node waits", () => {
  it("for its turn, among many → written then", async () => {
    const name = "silent-turn";
    await reporting(name);
    turns(7000);
    await fallsSilent(name);
    expect(await kubectl(name)).toMatchObject({ status: "True" });
    expect(await alarmInMs(name)).toBe(7000);
    shift(7000);
    await runDurableObjectAlarm(objectOf(name));
    expect(await kubectl(name)).toMatchObject(MARKED);
  });

  it("for its turn, and the machine reports first → never written", async () => {
    const name = "silent-back";
    const send = await reporting(name);
    turns(7000);
    await fallsSilent(name);
    await send();
    await requestsAbout(name);
    shift(7000);
    await runDurableObjectAlarm(objectOf(name));
    expect(await statusWrites(name)).toBe(0);
    expect(await kubectl(name)).toMatchObject({ status: "True" });
  });

  it("while the watch is not well → asks again, each time after as long as the silence lasts", async () => {
    const name = "silent-unwell";
    await reporting(name);
    const asked = turns(null, null);
    await fallsSilent(name);
    const waits: number[] = [];
    for (let rings = 0; rings < 2; rings++) {
      const inMs = await alarmInMs(name);
      waits.push(inMs);
      shift(inMs);
      await runDurableObjectAlarm(objectOf(name));
    }
    expect(waits).toEqual([LEASE_MS + 1000, 2 * (LEASE_MS + 1000)]);
    expect(asked).toHaveBeenCalledTimes(3);
    expect(await kubectl(name)).toMatchObject(MARKED);
  });

  it("while the apiserver fails → written by a later alarm", async () => {
    const name = "silent-failing";
    await reporting(name);
    await setFault(name, "etcd is away");
    await fallsSilent(name);
    await setFault(name, "");
    expect(await kubectl(name)).toMatchObject({ status: "True" });
    shift(await alarmInMs(name));
    await runDurableObjectAlarm(objectOf(name));
    expect(await kubectl(name)).toMatchObject(MARKED);
  });
});
