// Tests machines whose reports do not count: a clone, a machine with a revoked key, and a removed machine. All faces
// must agree: kubectl, list, search, table, page, timeline and the command line.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nodeScreen } from "../../infra/operator/fleet/machine-screen.ts";
import { PIPE } from "../../infra/operator/render/terminal.ts";
import { conditionRows } from "../../infra/page/machine/condition-rows.ts";
import { diagnose } from "../../infra/page/machine/diagnosis.ts";
import { UNREADY } from "../../shared/fleet/unready.ts";
import type { Event, Node, NodeCondition } from "../../shared/kubernetes/types.ts";
import type { MachinesAnswer } from "../../shared/protocol/fleet-answers.ts";
import type { WholeNode } from "../../shared/protocol/operator-answers.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import { currentMs } from "../../worker/clock.ts";
import { eventually, setClock, shift } from "../worker/support/clock.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  indexIsUpdated,
  kube,
  operator,
  requestsAbout,
  setFault,
  shimOf,
} from "../worker/support/machine.ts";

const START_MS = Date.UTC(2100, 5, 1, 12);
const HOUR_MS = 3_600_000;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const UNDER_PRESSURE: Vitals = {
  signals: { ...HEALTHY.signals, "memory.available": [50 * MIB, 8 * GIB] },
};
const PRESSURE_BEFORE = "True in its last report: machine has insufficient memory available";
const objectOf = (name: string) => env.NODES.getByName(name);
const nodePath = (name: string) => `/api/v1/nodes/${name}`;
const statusOf = (name: string) => `PATCH ${nodePath(name)}/status`;

beforeEach(() => setClock(START_MS));

/** Registers a machine that is under memory pressure. */
async function reporting(name: string, token: Record<string, unknown> = {}) {
  const machine = await enrolled(name, token);
  const report = shimOf(machine);
  const send = () => report(facts(name), UNDER_PRESSURE);
  expect(await send()).toMatchObject({ ok: true, value: { phase: "registered", ready: true } });
  shift(10_000);
  await send();
  await requestsAbout(name);
  return { machine, send };
}

/** Makes a machine and its copy report in turns, until they are known as clones. */
async function cloned(name: string, before = () => Promise.resolve()) {
  const { machine, send } = await reporting(name);
  const own = facts(name, { machine: { ...facts(name).machine!, bootID: "boot-of-copy" } });
  const copied = shimOf(machine, "start-of-copy");
  const copy = () => copied(own, HEALTHY);
  await before();
  let phase: unknown;
  for (let turn = 0; turn < 4 && phase !== "cloned"; turn++) {
    shift(5000);
    const outcome = await (turn % 2 === 0 ? copy() : send());
    phase = outcome.ok && "phase" in outcome.value && outcome.value.phase;
  }
  expect(phase).toBe("cloned");
  return { send };
}

const revoke = (name: string) => operator("POST", `/v1/nodes/${name}/revoke`);

const conditionOf = ({ status }: Node, type: string) =>
  status?.conditions?.find((each) => each.type === type);
const kubectl = async (name: string, type = "Ready"): Promise<Partial<NodeCondition>> =>
  conditionOf(await kube("GET", nodePath(name)), type) ?? {};

/** Returns what each face shows of the conditions now, as `status: message`. */
async function faces(name: string) {
  shift(1000);
  await indexIsUpdated(name);
  const get = async <T>(path: string) => (await operator<T>("GET", path)).body;
  const { machines } = await get<MachinesAnswer>(`/v1/machines?text=${name}`);
  const found = async (condition: string) =>
    (await get<MachinesAnswer>(`/v1/machines?text=${name}&condition=${condition}`)).machines.length > 0;
  const whole = await get<WholeNode>(`/v1/nodes/${name}`);
  const timeline = await get<TimelineAnswer>(`/v1/nodes/${name}/timeline`);
  const last = (track: string) => timeline.bands.findLast((band) => band.track === track);
  const isNow = (track: string) => last(track)?.to === timeline.until;
  const input = { name, live: null, whole, answeredMs: 0, neighbours: null, isContested: false };
  const screen = nodeScreen(whole, [], "").text({ screen: PIPE, nowMs: START_MS + 60_000, isWide: false });
  const line = (word: string) => screen.split("\n").find((text) => text.startsWith(word));
  const of = (type: string) => {
    const listed = machines[0]?.conditions?.find((each) => each.type === type);
    const row = conditionRows(whole).find((each) => each.type === type);
    return {
      list: `${listed?.status}: ${listed?.message}`,
      page: `${row?.status}: ${row?.message}`,
      timeline: isNow(type) ? (last(type)?.status ?? "none") : "none",
      commandLine: line(type)?.replace(/^\w+\s+/, ""),
    };
  };
  return {
    state: machines[0]?.state,
    ready: of("Ready"),
    pressure: of("MemoryPressure"),
    searches: { ready: await found("Ready"), pressure: await found("MemoryPressure") },
    isReady: whole.isReady,
    isReadyLine: line("ready"),
    warnings: diagnose(input)
      ?.warnings.map(({ text }) => text)
      .filter((text) => !text.startsWith("Its clock")),
  };
}

type Faces = Awaited<ReturnType<typeof faces>>;

/** The faces of a machine whose reports do not count, and that reported a lack of memory before. */
function unknown(state: string, { message }: { message: string }, timeline: string): Faces {
  const of = (text: string): Faces["ready"] => ({
    list: `Unknown: ${text}`,
    page: `Unknown: ${text}`,
    timeline,
    commandLine: expect.stringMatching(/^Unknown( for \w+)?: /),
  });
  return {
    state,
    ready: of(message),
    pressure: of(PRESSURE_BEFORE),
    searches: { ready: false, pressure: false },
    isReady: false,
    isReadyLine: expect.stringMatching(/ no$/),
    warnings: [],
  };
}

const writesOf = async (name: string) =>
  (await requestsAbout(name)).filter((each) => !/^GET|\/events/.test(each));
const eventsOf = async (name: string) => {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  return (await kube<{ items: Event[] }>("GET", path)).items.map(({ reason }) => reason);
};
/** Notifies the machine's object of another writer's change, as the watch does. */
const noticed = (name: string) => runInDurableObject(objectOf(name), (object) => object.noticeNode(null));
const ringing = (name: string) => runDurableObjectAlarm(objectOf(name));

/** Waits until kubectl shows a clone: no answer to a report waits for that. */
const isUnknown = (name: string) =>
  eventually(async () => expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.cloned }));

describe("a clone", () => {
  it("→ Ready Unknown with our words at once, in all faces; what the last report said is shown as that", async () => {
    const name = "unready-clone";
    const { send } = await cloned(name);
    await isUnknown(name);
    expect((await writesOf(name)).slice(-1)).toEqual([statusOf(name)]);
    expect(await kubectl(name, "MemoryPressure")).toMatchObject({ status: "True" });
    expect(await faces(name)).toEqual(unknown("blocked", UNREADY.cloned, "Unknown"));
    expect(await eventsOf(name)).toEqual(expect.arrayContaining(["MachineCloned", "NodeNotReady"]));
    await send();
    expect(await writesOf(name)).toEqual([]);
  });

  it("that an operator trusts again → Ready with its next report, and since that report", async () => {
    const name = "unready-trusted";
    const { send } = await cloned(name);
    await isUnknown(name);
    expect((await operator("POST", `/v1/nodes/${name}/believe`)).status).toBe(204);
    shift(10_000);
    const sinceMs = Math.floor(currentMs() / 1000) * 1000;
    expect(await send()).toMatchObject({ ok: true, value: { phase: "registered", ready: true } });
    expect(await kubectl(name)).toMatchObject({
      status: "True",
      reason: "KubeletReady",
      lastTransitionTime: new Date(sinceMs).toISOString().replace(".000", ""),
    });
    expect(await faces(name)).toMatchObject({
      state: "ready",
      ready: { list: "True: machine is posting ready status", timeline: "True" },
      pressure: { page: "True: machine has insufficient memory available", timeline: "True" },
      searches: { ready: true, pressure: true },
      isReady: true,
    });
  });

  it("while the apiserver is away → the faces show Unknown; the alarm writes it, once", async () => {
    const name = "unready-clone-away";
    const { send } = await cloned(name, () => setFault(name, "away"));
    expect(await kubectl(name)).toMatchObject({ status: "True" });
    expect(await faces(name)).toEqual(unknown("blocked", UNREADY.cloned, "Unknown"));
    await setFault(name, "");
    await evictDurableObject(objectOf(name));
    shift(30_000);
    await ringing(name);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.cloned });
    await writesOf(name);
    await send();
    await ringing(name);
    expect(await writesOf(name)).toEqual([]);
  });
});

describe("a clone whose machine is down", () => {
  const { MARK_SILENT_NODES } = env;
  beforeAll(() => void Object.assign(env, { MARK_SILENT_NODES: "on" }));
  afterAll(() => void Object.assign(env, { MARK_SILENT_NODES }));

  it.each<[when: string, name: string, end: (name: string) => Promise<unknown>]>([
    ["an hour after its last turn", "unready-clone-over", async () => shift(HOUR_MS)],
    [
      "once an operator trusts the machine",
      "unready-clone-trusted",
      async (name) => expect((await operator("POST", `/v1/nodes/${name}/believe`)).status).toBe(204),
    ],
  ])("%s → the Node states that the machine is silent", async (_, name, end) => {
    await cloned(name);
    await isUnknown(name);
    shift(41_000);
    await ringing(name);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.cloned });
    await end(name);
    await ringing(name);
    const words = {
      reason: "NodeStatusUnknown",
      message: expect.stringMatching(/^The machine has not reported since/),
    };
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...words });
    expect(JSON.stringify(await faces(name))).not.toContain("Several machines");
    await writesOf(name);
    await ringing(name);
    expect(await writesOf(name)).toEqual([]);
  });
});

describe("a machine whose key is revoked", () => {
  it("→ Ready Unknown with our words at once, in all faces", async () => {
    const name = "unready-revoked";
    await reporting(name);
    expect((await revoke(name)).status).toBe(204);
    expect(await writesOf(name)).toEqual([statusOf(name)]);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.revoked });
    expect(await faces(name)).toEqual(unknown("revoked", UNREADY.revoked, "none"));
    expect(await eventsOf(name)).toContain("NodeNotReady");
    await revoke(name);
    await ringing(name);
    expect(await writesOf(name)).toEqual([]);
  });

  it("while the apiserver is away → the faces show Unknown; the alarm writes it later, ever more rarely", async () => {
    const name = "unready-revoked-away";
    await reporting(name);
    await setFault(name, "away");
    expect((await revoke(name)).status).toBe(204);
    expect(await faces(name)).toEqual(unknown("revoked", UNREADY.revoked, "none"));
    const waits: number[] = [];
    for (let ring = 0; ring < 8; ring++) {
      await evictDurableObject(objectOf(name));
      const atMs = await runInDurableObject(objectOf(name), (_, { storage }) => storage.getAlarm());
      waits.push(Math.round(((atMs ?? 0) - currentMs()) / 1000));
      setClock(atMs ?? 0);
      await ringing(name);
    }
    expect(waits).toEqual([29, 30, 60, 120, 240, 480, 600, 600]);
    expect(await kubectl(name)).toMatchObject({ status: "True" });
    await setFault(name, "");
    await ringing(name);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.revoked });
  });

  it("and then reports → refused, and nothing is written", async () => {
    const name = "unready-refused";
    const { send } = await reporting(name);
    await revoke(name);
    await writesOf(name);
    shift(10_000);
    expect(await send()).toMatchObject({ ok: false });
    expect(await writesOf(name)).toEqual([]);
  });

  it("whose Node runs pods → the node controller's change is left to it, and gets our words afterwards", async () => {
    const name = "unready-with-pods";
    await reporting(name, { withoutFactsOnlyTaint: true });
    const tainted = await kube("GET", nodePath(name));
    await kube("PUT", `${nodePath(name)}?fieldManager=kubectl`, { ...tainted, spec: {} });
    await noticed(name);
    await writesOf(name);
    await revoke(name);
    expect(await writesOf(name)).toEqual([]);
    expect(await kubectl(name)).toMatchObject({ status: "True" });
    const node = await kube("GET", nodePath(name));
    const conditions = node.status?.conditions?.map((each) => ({
      ...each,
      status: "Unknown",
      reason: "NodeStatusUnknown",
    }));
    const status = { ...node.status, conditions };
    await kube("PUT", `${nodePath(name)}/status?fieldManager=kube-controller-manager`, { ...node, status });
    await noticed(name);
    expect(await writesOf(name)).toEqual([statusOf(name)]);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.revoked });
  });
});

describe("a removed machine", () => {
  const remove = async (name: string) =>
    (await operator("DELETE", nodePath(name).replace("/api", ""))).status;

  it("whose Node may not be deleted → Ready Unknown with our words, until it is deleted", async () => {
    const name = "unready-removed";
    await reporting(name);
    await setFault(name, { kind: "status", code: 403, reason: "Forbidden", of: `^DELETE ${nodePath(name)}` });
    expect(await remove(name)).toBe(503);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.removed });
    await setFault(name, "");
  });

  it("whose Node another program's finalizer keeps → Ready Unknown with our words", async () => {
    const name = "unready-finalizer";
    await reporting(name);
    const node = await kube("GET", nodePath(name));
    const metadata = { ...node.metadata, finalizers: ["example.com/keep"] };
    await kube("PUT", `${nodePath(name)}?fieldManager=kubectl`, { ...node, metadata });
    expect(await remove(name)).toBe(204);
    expect(await kubectl(name)).toMatchObject({ status: "Unknown", ...UNREADY.removed });
  });
});
