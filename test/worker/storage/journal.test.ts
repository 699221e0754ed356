// Tests a machine's events, history and silence: an unreachable apiserver or an eviction loses none of them, and
// repeats none.
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Event, Lease } from "../../../shared/kubernetes/types.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { HistoryEntry } from "../../../shared/protocol/operator-answers.ts";
import { ADMIN_SECRET } from "../support/constants.ts";
import { enrolled, facts, HEALTHY, kube, requestsAbout, send, setFault, shimOf } from "../support/machine.ts";
import { eventually, shift } from "../support/clock.ts";

const GIB = 2 ** 30;
const UNDER_PRESSURE: Vitals = { signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * GIB] } };
const SHUTTING_DOWN: Vitals = { ...HEALTHY, shuttingDown: true };

const objectOf = (name: string) => env.NODES.getByName(name);
const ring = (name: string) => runDurableObjectAlarm(objectOf(name));

/** Returns the apiserver's events about a Node. */
async function storedEvents(name: string): Promise<Event[]> {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  return (await kube<{ items: Event[] }>("GET", path)).items;
}

/** Returns the uid to which each event about a Node refers, by the event's reason. `UID` replaces the Node's own uid. */
async function uidsOf(name: string): Promise<Record<string, string>> {
  const { metadata } = await kube("GET", `/api/v1/nodes/${name}`);
  const events = await storedEvents(name);
  const uids = events.map(({ reason = "", involvedObject: { uid = "" } }) => [
    reason,
    uid === metadata?.uid ? "UID" : uid,
  ]);
  return Object.fromEntries(uids) as Record<string, string>;
}

/** Returns the events about a Node in their order, as `reason ×count`. */
async function eventsOf(name: string): Promise<string[]> {
  return (await storedEvents(name))
    .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
    .map(({ reason = "", count = 1 }) => (count > 1 ? `${reason} ×${count}` : reason));
}

async function historyOf(name: string, query = ""): Promise<HistoryEntry[]> {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
  const response = await send(`/v1/nodes/${name}/history${query}`, { method: "GET", headers });
  return (await response.json<{ entries: HistoryEntry[] }>()).entries;
}

const textsOf = async (name: string, kind: string) =>
  (await historyOf(name, `?kind=${kind}`)).map(({ text }) => text);

/** Returns a registered machine whose first events are sent. */
async function settled(name: string) {
  const machine = await enrolled(name);
  const report = shimOf(machine);
  await report(facts(name), HEALTHY);
  await ring(name);
  await requestsAbout(name);
  return { machine, report };
}

/** The events of any start of the shim. The first start, which creates the Node, has more. */
const STARTED_AGAIN = [
  "Starting",
  "NodeHasSufficientMemory",
  "NodeHasNoDiskPressure",
  "NodeHasSufficientPID",
];
const STARTED = [...STARTED_AGAIN, "NodeReady"];

describe("a shim whose setup fails", () => {
  const SETUP_ERROR = "Invalid Node Allocatable configuration. Resource memory has a reservation of 1Ei";
  const FAILED: Vitals = { signals: {}, setupError: SETUP_ERROR };

  it("registered before → a Warning and a line of history; lease, status and facts stay", async () => {
    const name = "setup-failed";
    const { machine } = await settled(name);
    const restarted = shimOf(machine, "start-2");
    const changed = facts(name, { versions: { kernel: "6.2.0", osImage: "Test Linux" } });
    expect(await restarted(changed, FAILED)).toMatchObject({
      ok: true,
      value: { phase: "setup failed", ready: true },
    });
    expect(await requestsAbout(name)).toEqual(["POST /api/v1/namespaces/default/events"]);
    expect(await eventsOf(name)).toEqual([...STARTED, "KubeletSetupFailed"]);
    expect(await textsOf(name, "registration")).toContain(SETUP_ERROR);
    expect(await textsOf(name, "version")).toEqual([]);
  });

  it("again and again → counted, as the kubelet does", async () => {
    const name = "setup-failed-twice";
    const { machine } = await settled(name);
    await shimOf(machine, "start-2")(facts(name), FAILED);
    await shimOf(machine, "start-3")(facts(name), FAILED);
    expect(await eventsOf(name)).toEqual([...STARTED, "KubeletSetupFailed ×2"]);
  });

  it("it starts in the end → registered and Ready, as after any restart", async () => {
    const name = "setup-mended";
    const machine = await enrolled(name);
    expect(await shimOf(machine, "start-1")(facts(name), FAILED)).toMatchObject({
      value: { phase: "setup failed", ready: false },
    });
    expect(await shimOf(machine, "start-2")(facts(name), HEALTHY)).toMatchObject({
      value: { phase: "registered", ready: true },
    });
    await ring(name);
    expect(await uidsOf(name)).toMatchObject({ KubeletSetupFailed: name, Starting: "UID" });
  });
});

describe("events", () => {
  it("of a start follow the answer at once, without a report or an alarm, in their order", async () => {
    const report = shimOf(await enrolled("events-start"));
    await report(facts("events-start"), HEALTHY);
    await eventually(async () => expect(await eventsOf("events-start")).toEqual(STARTED));
  });

  it("of a start while the apiserver fails → wait for the alarm", async () => {
    const name = "events-start-fails";
    const report = shimOf(await enrolled(name));
    await setFault(name, { kind: "status", code: 503, of: "events" });
    await report(facts(name), HEALTHY);
    await ring(name);
    expect(await eventsOf(name)).toEqual([]);
    await setFault(name, "");
    await ring(name);
    expect(await eventsOf(name)).toEqual(STARTED);
  });

  it("of a start on cgroup v1: CgroupV1, after Starting", async () => {
    const name = "events-cgroup-v1";
    const report = shimOf(await enrolled(name));
    await report(facts(name, { cgroups: { cpuHardcapping: true, version: 1 } }), HEALTHY);
    await ring(name);
    expect(await eventsOf(name)).toEqual(["Starting", "CgroupV1", ...STARTED.slice(1)]);
  });

  it("of a Node that is created before its machine is Ready → NodeReady once, when it turns Ready", async () => {
    const name = "events-not-ready-first";
    const report = shimOf(await enrolled(name));
    await report(facts(name), { ...HEALTHY, errors: { runtime: ["container runtime is down"] } });
    await ring(name);
    expect(await eventsOf(name)).toEqual(STARTED_AGAIN);
    await report(facts(name), HEALTHY);
    expect(await eventsOf(name)).toEqual(STARTED);
  });

  it("of a restart start again, without one for an unchanged Ready", async () => {
    const name = "events-restart";
    const { machine } = await settled(name);
    await shimOf(machine, "start-2")(facts(name), HEALTHY);
    await ring(name);
    expect(await eventsOf(name)).toEqual([...STARTED, ...STARTED_AGAIN]);
  });

  it("of pressure: the threshold, then its condition; no further ones while it lasts", async () => {
    const name = "events-pressure";
    const { report } = await settled(name);
    for (let times = 0; times < 3; times++) await report(facts(name), UNDER_PRESSURE);
    expect((await eventsOf(name)).slice(STARTED.length)).toEqual([
      "EvictionThresholdMet",
      "NodeHasInsufficientMemory",
    ]);
  });

  it("of OOM kills: one for each report's increase; also if they ended the shim itself", async () => {
    const name = "events-oom";
    const { machine, report } = await settled(name);
    const oomsOf = async () => (await eventsOf(name)).filter((event) => event.startsWith("SystemOOM"));
    for (const oomKills of [7, 7]) await report(facts(name), { ...HEALTHY, oomKills });
    expect(await oomsOf()).toEqual([]);
    for (const oomKills of [9, 9, 10]) await report(facts(name), { ...HEALTHY, oomKills });
    expect(await oomsOf()).toEqual(["SystemOOM ×2"]);
    const restarted = shimOf(machine, "start-2");
    await restarted(facts(name), { ...HEALTHY, oomKills: 11 });
    await ring(name);
    expect(await oomsOf()).toEqual(["SystemOOM ×2", "SystemOOM"]);
    await evictDurableObject(objectOf(name));
    await restarted(facts(name), { ...HEALTHY, oomKills: 11 });
    expect(await oomsOf()).toHaveLength(2);
  });

  it("refer to the Node by its uid; those of the signals and of a shutdown by its name, as a kubelet's", async () => {
    const name = "events-about";
    const { report } = await settled(name);
    await report(facts(name), { ...UNDER_PRESSURE, shuttingDown: true });
    await ring(name);
    expect((await storedEvents(name))[0]).toMatchObject({
      involvedObject: { apiVersion: "v1", kind: "Node", name },
      source: { component: "rollcall", host: name },
      type: "Normal",
    });
    const byUid = [...STARTED, "NodeHasInsufficientMemory", "NodeNotReady"].map((reason) => [reason, "UID"]);
    const byName = { EvictionThresholdMet: name, Shutdown: name };
    expect(await uidsOf(name)).toEqual({ ...Object.fromEntries(byUid), ...byName });
  });

  it("of a changed condition are sent with its report; an unchanged one causes none", async () => {
    const { report } = await settled("events-flip");
    await report(facts("events-flip"), SHUTTING_DOWN);
    await report(facts("events-flip"), SHUTTING_DOWN);
    expect(await eventsOf("events-flip")).toEqual([...STARTED, "Shutdown", "NodeNotReady"]);
  });

  it("of a cancelled shutdown: the shutdown and its cancellation; a completed one has no event after the boot", async () => {
    const { machine, report } = await settled("events-shutdown");
    await report(facts("events-shutdown"), SHUTTING_DOWN);
    await report(facts("events-shutdown"), HEALTHY);
    await report(facts("events-shutdown"), SHUTTING_DOWN);
    const restarted = shimOf(machine, "start-2");
    await restarted(facts("events-shutdown"), HEALTHY);
    await restarted(facts("events-shutdown"), HEALTHY);
    await ring("events-shutdown");
    const told = (await storedEvents("events-shutdown")).filter(({ reason }) => reason === "Shutdown");
    expect(told.map(({ type, message, count }) => [type, message, count])).toEqual([
      ["Normal", "Shutdown manager detected shutdown event", 2],
      ["Normal", "Shutdown manager detected shutdown cancellation", 1],
    ]);
  });

  it("of a reboot: Rebooted, once", async () => {
    const { machine } = await settled("events-reboot");
    const booted = facts("events-reboot");
    booted.machine!.bootID = "b-2";
    // A machine takes longer to boot than its node object stays awake.
    await evictDurableObject(objectOf("events-reboot"));
    shift(60_000);
    const restarted = shimOf(machine, "start-2");
    await restarted(booted, HEALTHY);
    await restarted(booted, HEALTHY);
    await ring("events-reboot");
    const events = await eventsOf("events-reboot");
    expect(events.filter((event) => event.startsWith("Rebooted"))).toEqual(["Rebooted"]);
  });

  it("of an image filesystem without capacity: InvalidDiskCapacity once; again after it had capacity", async () => {
    const name = "no-image-capacity";
    const { report } = await settled(name);
    const withImages = (bytes: [number, number]) => ({
      signals: { ...HEALTHY.signals, "imagefs.available": bytes },
    });
    for (const bytes of [0, 0, GIB, 0]) await report(facts(name), withImages([bytes, bytes]));
    const events = await eventsOf(name);
    expect(events.filter((event) => event.startsWith("Invalid"))).toEqual(["InvalidDiskCapacity ×2"]);
  });

  it("while the apiserver is unreachable: each once and in order, and the cluster gets the last state", async () => {
    const name = "events-away";
    const { report } = await settled(name);
    await setFault(name, "away");
    for (const vitals of [SHUTTING_DOWN, HEALTHY, SHUTTING_DOWN, HEALTHY, UNDER_PRESSURE]) {
      await report(facts(name), vitals);
      await report(facts(name), vitals);
      await evictDurableObject(objectOf(name));
    }
    expect(await eventsOf(name)).toEqual(STARTED);
    await setFault(name, "");
    await report(facts(name), UNDER_PRESSURE);
    await ring(name);
    expect(await eventsOf(name)).toEqual([
      ...STARTED_AGAIN,
      "NodeReady ×3",
      "Shutdown ×2",
      "NodeNotReady ×2",
      "Shutdown ×2",
      "EvictionThresholdMet",
      "NodeHasInsufficientMemory",
    ]);
    // The four conditions of a new Node, five changes of them, and four of GracefulNodeShutdownInProgress.
    expect(await textsOf(name, "condition")).toHaveLength(4 + 5 + 4);
  });

  it("of an object that is evicted before they are sent → sent later", async () => {
    const name = "events-evicted";
    const report = shimOf(await enrolled(name));
    await report(facts(name), HEALTHY);
    await evictDurableObject(objectOf(name));
    await report(facts(name), HEALTHY);
    await ring(name);
    expect(await eventsOf(name)).toEqual(STARTED);
  });
});

describe("GET /v1/nodes/:name/history", () => {
  it("has the events, newest first", async () => {
    const { report } = await settled("history-told");
    await report(facts("history-told"), SHUTTING_DOWN);
    const [state, newest, ...older] = await historyOf("history-told");
    expect(state).toMatchObject({ kind: "state", text: "ready → not-ready" });
    expect(newest).toMatchObject({
      kind: "condition",
      text: "Ready: True → False (KubeletNotReady: node is shutting down)",
      at: expect.stringMatching(/Z$/),
    });
    expect(older.map(({ text }) => text)).toContain("Node created");
  });

  it.each([
    ["reboot", "boot ID: b-1 → b-2", { bootID: "b-2" }],
    ["capacity", `memory bytes: ${8 * GIB} → ${4 * GIB}`, { memoryBytes: 4 * GIB }],
  ])("of new facts: %s", async (kind, text, change) => {
    const name = `history-${kind}`;
    const { report } = await settled(name);
    const changed = facts(name);
    Object.assign(changed.machine!, change);
    await report(changed, HEALTHY);
    expect(await textsOf(name, kind)).toEqual([text]);
  });

  it("has an unreachable apiserver, and its return", async () => {
    const { report } = await settled("history-away");
    await setFault("history-away", "html");
    await report(facts("history-away"), HEALTHY);
    shift(1000);
    await setFault("history-away", "");
    await report(facts("history-away"), HEALTHY);
    expect(await textsOf("history-away", "apiserver")).toEqual([
      expect.stringMatching(
        /^apiserver unreachable → registered: away from 21[\d:TZ-]{18} to 21[\d:TZ-]{18}$/,
      ),
      "registered → apiserver unreachable",
    ]);
  });

  it.each([
    ["?limit=0", 400],
    ["?limit=1000", 200],
    ["?limit=1001", 400],
    ["?kind=nonsense", 400],
    ["?since=yesterday", 400],
    ["?more=1", 400],
  ])("with the query %s → %i", async (query, status) => {
    const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
    await enrolled(`history-query-${query.length}-${status}`).catch(() => undefined);
    const path = `/v1/nodes/history-query-${query.length}-${status}/history${query}`;
    expect((await send(path, { method: "GET", headers })).status).toBe(status);
  });

  it("without the operator's secret → 403; of a machine that never enrolled → 404", async () => {
    expect((await send("/v1/nodes/never-seen/history", { method: "GET" })).status).toBe(403);
    const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
    expect((await send("/v1/nodes/never-seen/history", { method: "GET", headers })).status).toBe(404);
  });
});

describe("silence", () => {
  const leasePath = (name: string) =>
    `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;

  it("of a machine in the object's memory → the alarm records it, with the last message; its end is recorded, too", async () => {
    const name = "silent-warm";
    const { report } = await settled(name);
    await report(facts(name), SHUTTING_DOWN);
    shift(5 * 60_000);
    await ring(name);
    expect(await textsOf(name, "silence")).toEqual([
      expect.stringMatching(/^silent since .*Z; last said: Ready False: node is shutting down$/),
    ]);
    await report(facts(name), HEALTHY);
    expect(await textsOf(name, "silence")).toEqual([
      "heard of again after 300 s: was cut off, not down: kept running for 5 min",
      expect.stringMatching(/^silent/),
    ]);
  });

  it("of a machine whose object was evicted → decided by its lease", async () => {
    const name = "silent-cold";
    await settled(name);
    await evictDurableObject(objectOf(name));
    shift(5 * 60_000);
    await ring(name);
    expect(await textsOf(name, "silence")).toHaveLength(1);
  });

  it("does not begin within a lease duration, and an alarm renews no lease", async () => {
    const name = "silent-not";
    await settled(name);
    const before = await kube<Lease>("GET", leasePath(name));
    shift(39_000);
    await ring(name);
    expect(await textsOf(name, "silence")).toEqual([]);
    expect(await kube<Lease>("GET", leasePath(name))).toEqual(before);
  });

  it("cannot be decided while the apiserver is unreachable, nor within a lease duration of its return", async () => {
    const name = "silent-away";
    const { report } = await settled(name);
    await setFault(name, "html");
    await report(facts(name), HEALTHY);
    await evictDurableObject(objectOf(name));
    shift(5 * 60_000);
    await ring(name);
    expect(await textsOf(name, "silence")).toEqual([]);
    await setFault(name, "");
    await ring(name);
    expect(await textsOf(name, "silence")).toEqual([]);
    shift(41_000);
    await ring(name);
    expect(await textsOf(name, "silence")).toHaveLength(1);
  });
});

describe("POST /v1/nodes/:name/register", () => {
  it("registers a deleted Node again with the next report", async () => {
    const name = "register-again";
    const { report } = await settled(name);
    await kube("DELETE", `/api/v1/nodes/${name}`);
    await kube("DELETE", `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`);
    expect(await report(facts(name), HEALTHY)).toMatchObject({ value: { phase: "node deleted" } });
    const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
    expect((await send(`/v1/nodes/${name}/register`, { method: "POST", headers })).status).toBe(204);
    expect(await report(facts(name), HEALTHY)).toMatchObject({
      value: { phase: "registered", ready: true },
    });
  });
});
