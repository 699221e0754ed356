// Tests what a node object does between reports, and what it omits for a machine that is not enrolled.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, test, vi } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import {
  SILENCE_CHECK_MS,
  UNSEEN_SILENCE_CHECK_MS,
  WATCHED_SILENCE_CHECK_MS,
} from "../../../worker/machine/silence.ts";
import { Upkeep } from "../../../worker/machine/upkeep.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  kube,
  operator,
  requestsAbout,
  setFault,
  setKnownCluster,
  shimOf,
} from "../support/machine.ts";
import { keptRecords } from "../support/kept-records.ts";
import { setClock, shift } from "../support/clock.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

afterEach(() => {
  vi.restoreAllMocks();
});

interface Situation {
  records?: Record<string, unknown>;
  eventsWait?: boolean;
  kubeUrl?: string;
  /** Variables of the deployment that replace those of the tests. */
  variables?: object;
  flushFails?: boolean;
  phase?: string;
  isEnrolled?: boolean;
  reportIntervalMs?: number;
}

function upkeepOf({ records = {}, eventsWait = false, kubeUrl = "https://kube.test", ...more }: Situation) {
  setClock(NOW_MS);
  const [fetch, atLatest, unlessSet, flush] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
  flush.mockImplementation(() =>
    more.flushFails ? Promise.reject(new Error("broken")) : Promise.resolve(null),
  );
  const stored = keptRecords(records);
  const timing = { ...TIMING, nodeStatusUpdateFrequencyMs: more.reportIntervalMs ?? 10_000 };
  const upkeep = new Upkeep(
    { KUBE: { fetch }, KUBE_URL: kubeUrl, DEPLOYMENT: "test", NODE_WATCH: "off", ...more.variables } as never,
    {
      ...stored,
      outbox: { isEmpty: () => !eventsWait, flush },
      alarm: { atLatest, unlessSet } as never,
      keys: { enrolled: () => (more.isEnrolled ? { id: "id", thumbprints: [] } : null) } as never,
      senders: {
        notice: () => more.phase && { phase: more.phase },
        suspension: () => ({ phase: more.phase }),
      } as never,
      facts: { leaseMs: () => 40_000, timing: () => timing } as never,
      history: {} as never,
    } as never,
  );
  return { upkeep, fetch, atLatest, unlessSet, flush, notes: stored.notes };
}

const TIMING = { nodeLeaseDurationSeconds: 60 };
const ENROLLED = { enrolment: { name: "edge-1" }, settled: { key: "0 thumbprint", toldAtMs: {} } };
const REGISTERED = { ...ENROLLED, registration: { phase: "registered" }, phase: "registered" };
const CLONED = { ...REGISTERED, phase: "cloned" };

describe("between reports", () => {
  it.each<[string, Situation, number | null]>([
    ["nothing waits and nothing is known → no alarm more", {}, null],
    ["events wait → again in a while", { eventsWait: true }, NOW_MS + SILENCE_CHECK_MS],
    ["clones have reported → again when a lease would have ended", { records: CLONED }, NOW_MS + 40_000],
    [
      "the events cannot be sent at all → again in a while",
      { eventsWait: true, flushFails: true },
      NOW_MS + SILENCE_CHECK_MS,
    ],
  ])("%s", async (_, situation, at) => {
    const { upkeep, atLatest } = upkeepOf(situation);
    await upkeep.betweenReports("edge-1");
    expect(atLatest.mock.calls).toEqual(at === null ? [] : [[at]]);
  });

  it.each<[string, object, number]>([
    ["roles that are none", { NODE_ROLE: "control-plane" }, 40_000],
    ["a deployment that is none", { DEPLOYMENT: undefined }, 40_000],
    ["too few requests", { MACHINE_REQUESTS: "1" }, SILENCE_CHECK_MS],
  ])("a Worker that has %s → again in a while", async (_, variables, waitMs) => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const { upkeep, atLatest } = upkeepOf({ variables, records: REGISTERED, eventsWait: true });
    await upkeep.betweenReports("edge-1");
    expect(atLatest.mock.calls).toEqual([[NOW_MS + waitMs]]);
  });

  it("a machine in contact → checked again later, without a request", async () => {
    const { upkeep, atLatest, fetch } = upkeepOf({ records: REGISTERED });
    upkeep.noteContact(NOW_MS);
    await upkeep.betweenReports("edge-1");
    expect(atLatest.mock.calls).toEqual([[NOW_MS + SILENCE_CHECK_MS]]);
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each<[string, Situation, number]>([
    ["that wait are sent", { eventsWait: true }, 1],
    ["are none", {}, 0],
    ["wait where there is no apiserver", { eventsWait: true, kubeUrl: "" }, 0],
  ])("events %s", async (_, situation, times) => {
    const { upkeep, flush } = upkeepOf(situation);
    await upkeep.flush("edge-1");
    expect(flush).toHaveBeenCalledTimes(times);
  });
});

/** Returns the records of a machine whose requests are used up but for some, apart from the lease's. */
const left = (others: number) => ({
  ...REGISTERED,
  requestsLeft: { renewals: 8, others, recent: [], atMs: NOW_MS },
});

describe("features that are published for nfd-master", () => {
  const features = { flags: { "cpu.cpuid": ["AVX"] }, attributes: {}, instances: {} };
  const OBJECTS = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/node-feature-discovery/nodefeatures";
  const records = {
    ...REGISTERED,
    enrolment: { name: "edge-1", token: "j", mayFeature: ["*"] },
    registration: { phase: "registered", startId: "start-1" },
    node: { node: { metadata: { name: "edge-1", uid: "u-1" } } },
    facts: { digest: "d", facts: { features } },
  };
  const object = {
    namespace: "node-feature-discovery",
    uid: "f-1",
    digest: "d",
    bytes: 9,
    startId: "start-1",
  };
  const nodeTurn = () => Promise.resolve({ waitMs: 0, isGranted: true, limit: "" });
  const variables = { FEATURES: "NodeFeature", INDEX: { getByName: () => ({ nodeTurn }) } };
  const requestsOf = ({ fetch }: ReturnType<typeof upkeepOf>) =>
    (fetch.mock.calls as [string, RequestInit][]).map(
      ([url, { method }]) => `${method} ${new URL(url).pathname}`,
    );

  it("the apiserver has no such objects → one request, and the alarm tries again within a minute", async () => {
    const played = upkeepOf({ records, variables, isEnrolled: true });
    played.fetch.mockResolvedValue(new Response("404 page not found\n", { status: 404 }));
    for (let time = 0; time < 3; time++) await played.upkeep.publish();
    expect(requestsOf(played)).toEqual([`PATCH ${OBJECTS}/edge-1`]);
    const [[againMs]] = played.atLatest.mock.calls as [[number]];
    expect(againMs).toBeGreaterThanOrEqual(NOW_MS + 45_000);
    expect(againMs).toBeLessThanOrEqual(NOW_MS + 60_000);
  });

  it("the alarm rings for other work before the next attempt → it is set again for the attempt", async () => {
    const played = upkeepOf({ records: { ...records, nodeFeature: { object } }, variables });
    played.fetch.mockImplementation(async () =>
      Response.json({ kind: "Status", code: 500 }, { status: 500 }),
    );
    await played.upkeep.giveUp();
    const tried = requestsOf(played).length;
    shift(30_000);
    await played.upkeep.giveUp();
    expect(requestsOf(played)).toHaveLength(tried);
    const [first, again] = played.atLatest.mock.calls as [number][];
    expect(again).toEqual(first);
  });

  it.each([
    ["FEATURES is off", { FEATURES: "off" }, true, {}],
    ["the keys are refused", variables, false, {}],
    ["the keys are refused and no request is left", variables, false, left(0)],
  ])("%s → the object is removed", async (_, more, isEnrolled, requests) => {
    const known = { ...requests, ...records, nodeFeature: { object } };
    const played = upkeepOf({ records: known, variables: more, isEnrolled });
    played.fetch.mockImplementation(async () => Response.json({ metadata: {}, kind: "NodeFeature" }));
    await played.upkeep.publish();
    await played.upkeep.publish();
    expect(requestsOf(played)).toEqual([`DELETE ${OBJECTS}/edge-1`]);
  });
});

describe("waiting events of a machine that has used up many of its requests", () => {
  it.each<[others: number, withReport: number, betweenReports: number]>([
    [9, 1, 1],
    [8, 1, 0],
    [5, 1, 0],
    [4, 0, 0],
  ])("%i are left → sent %i times with a report, %i times between reports", async (others, ...times) => {
    const { upkeep, flush } = upkeepOf({ records: left(others), eventsWait: true });
    await upkeep.betweenReports("edge-1");
    const between = flush.mock.calls.length;
    await upkeep.flush("edge-1");
    expect([flush.mock.calls.length - between, between]).toEqual(times);
  });
});

describe("the alarm that a report sets", () => {
  it.each<[situation: string, Situation, rings: "at the latest" | "unless it is set", afterMs: number]>([
    ["the first one of an object → unless it is set", {}, "unless it is set", SILENCE_CHECK_MS],
    [
      "of one whose events wait → when these are sent",
      { eventsWait: true },
      "at the latest",
      SILENCE_CHECK_MS,
    ],
  ])("%s", async (_, situation, rings, afterMs) => {
    const { upkeep, atLatest, unlessSet } = upkeepOf(situation);
    await upkeep.setAlarm(NOW_MS);
    const [set, other] = rings === "at the latest" ? [atLatest, unlessSet] : [unlessSet, atLatest];
    expect([set.mock.calls, other.mock.calls]).toEqual([[[NOW_MS + afterMs]], []]);
  });

  it.each<[situation: string, isSilenceSeen: boolean, Situation, afterMs: number]>([
    ["reports that keep the object awake", false, { reportIntervalMs: 10_000 }, SILENCE_CHECK_MS],
    ["reports that come just less often", false, { reportIntervalMs: 10_001 }, UNSEEN_SILENCE_CHECK_MS],
    ["a lease", false, { records: REGISTERED, reportIntervalMs: 10_001 }, SILENCE_CHECK_MS],
    ["a lease that is watched", true, { records: REGISTERED }, WATCHED_SILENCE_CHECK_MS],
    [
      "a lease that is lent",
      false,
      { records: { ...REGISTERED, lent: { gateway: 1, epochsTo: 1 } } },
      WATCHED_SILENCE_CHECK_MS,
    ],
    [
      "a lease that is watched, and events",
      true,
      { records: REGISTERED, eventsWait: true },
      SILENCE_CHECK_MS,
    ],
  ])("after the alarm has asked the cluster's object: %s", async (_, isSilenceSeen, situation, afterMs) => {
    const standing = () => Promise.resolve({ isWatched: true, isSilenceSeen });
    const variables = { NODE_WATCH: "on", CLUSTER: { getByName: () => ({ standing }) } };
    const { upkeep, atLatest } = upkeepOf({ ...situation, variables });
    upkeep.noteContact(NOW_MS);
    await upkeep.betweenReports("edge-1");
    atLatest.mockClear();
    await upkeep.setAlarm(NOW_MS);
    expect(atLatest.mock.calls).toEqual([[NOW_MS + afterMs]]);
  });
});

describe("a report", () => {
  const REPORT = { startId: "s" } as never;

  it("of a machine that is no longer enrolled → no tick, no request", async () => {
    const { upkeep, fetch } = upkeepOf({ records: { enrolment: { name: "edge-1" } } });
    expect(await upkeep.keepTrue(REPORT, NOW_MS)).toEqual({ phase: "node deleted", ready: false });
    expect(fetch).not.toHaveBeenCalled();
  });

  it("of duplicate senders that were found meanwhile → not Ready, no request", async () => {
    const records = { enrolment: { name: "edge-1" } };
    const { upkeep, fetch } = upkeepOf({ records, isEnrolled: true, phase: "cloned" });
    expect(await upkeep.keepTrue(REPORT, NOW_MS)).toEqual({ phase: "cloned", ready: false });
    expect(fetch).not.toHaveBeenCalled();
  });

  it("in progress ends before `finish`, also if it fails", async () => {
    const { upkeep } = upkeepOf({ isEnrolled: true });
    const failed = upkeep.keepTrue(REPORT, NOW_MS).catch(String);
    await expect(upkeep.finish()).resolves.toBeUndefined();
    expect(await failed).toContain("a tick without an enrolment");
  });
});

describe("a registration", () => {
  const before = { NODE_WATCH: env.NODE_WATCH, CLUSTER: env.CLUSTER };
  afterEach(() => {
    Object.assign(env, before);
  });

  it("in a cluster whose version is not known → waits for it: no Node is newer than its cluster", async () => {
    const name = "registered-in-35";
    const machine = await enrolled(name);
    const standing = vi.fn(() => Promise.resolve({ isWatched: false, isSilenceSeen: false }));
    // Without a Node the watch would pause, so that only the answer to the registration may ask for the watch.
    const minor = () => Promise.resolve(standing.mock.calls.length === 0 ? 35 : undefined);
    await setKnownCluster(name, {});
    Object.assign(env, { NODE_WATCH: "on", CLUSTER: { getByName: () => ({ standing, minor }) } });
    await shimOf(machine)(facts(name), HEALTHY);
    const { status } = await kube("GET", `/api/v1/nodes/${name}`);
    expect(status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.35\.0-rollcall-v/);
    Object.assign(env, before);
    await setKnownCluster(name, {});
  });

  it("is answered before the cluster object's answer about its watch, which is requested", async () => {
    const name = "registered-unwatched";
    const machine = await enrolled(name);
    await setKnownCluster(name, { minor: 36 });
    const asked: string[] = [];
    const standing = (watched: string) => {
      asked.push(watched);
      return new Promise(() => undefined);
    };
    Object.assign(env, { NODE_WATCH: "on", CLUSTER: { getByName: () => ({ standing }) } });
    expect(await shimOf(machine)(facts(name), HEALTHY)).toMatchObject({ value: { phase: "registered" } });
    expect(asked).toEqual([name]);
  });
});

describe("the status of some machines that is due within seconds", () => {
  const before = { NODE_WATCH: env.NODE_WATCH, CLUSTER: env.CLUSTER };
  afterEach(() => {
    Object.assign(env, before);
  });

  /** Lets four machines report until their status is due, and returns the number of questions about the watch. */
  async function askedOnce(isWatched: boolean, prefix: string): Promise<number> {
    let asked = 0;
    const standing = () => {
      asked++;
      return Promise.resolve({ isWatched, isSilenceSeen: isWatched });
    };
    Object.assign(env, { NODE_WATCH: "on", CLUSTER: { getByName: () => ({ standing }) } });
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const names = [1, 2, 3, 4].map((each) => `${prefix}-${each}`);
    const machines = await Promise.all(names.map((name) => enrolled(name)));
    const reports = machines.map((machine) => shimOf(machine));
    const round = async () => {
      for (const [index, report] of reports.entries()) await report(facts(names[index]!), HEALTHY);
      shift(30_000);
    };
    await round();
    asked = 0;
    for (let rounds = 0; rounds < 11; rounds++) await round();
    return asked;
  }

  it("while the watch is live → one machine's object asks, and the others of its isolate know", async () => {
    expect(await askedOnce(true, "watched-together")).toBe(1);
  });

  it("while the watch is not live → each asks, so that it reads its Node", async () => {
    expect(await askedOnce(false, "unwatched-together")).toBe(4);
  });
});

describe("the last known Node", () => {
  const node = (status: string) => ({
    node: { node: { status: { conditions: [{ type: "Ready", status }] } } },
  });

  it.each([
    ["none", {}, false],
    ["Ready", node("True"), true],
    ["not Ready", node("False"), false],
    ["of which nobody knows", node("Unknown"), false],
  ])("%s", (_, records, ready) => {
    expect(upkeepOf({ records }).upkeep.isReady()).toBe(ready);
  });
});

describe("a notice of another writer's change to the Node", () => {
  const nodePath = (name: string) => `/api/v1/nodes/${name}`;
  const as = (manager: string) => `?fieldManager=${manager}`;
  const objectOf = (name: string) => env.NODES.getByName(name);
  const getNode = (name: string) => kube("GET", nodePath(name));
  const shown = async (name: string) => (await objectOf(name).show())!;
  const requestsAfter = async (name: string, work: () => Promise<unknown>) => {
    await requestsAbout(name);
    await work();
    return requestsAbout(name);
  };

  /** Returns a registered machine whose next report is quiet. The test moves the clock. */
  async function steady(name: string) {
    const report = shimOf(await enrolled(name));
    const send = () => report(facts(name), HEALTHY);
    await send();
    await send();
    await requestsAbout(name);
    return { send, pass: shift };
  }

  async function changed(name: string, change: (node: Node) => object, manager = "kubectl"): Promise<Node> {
    const node = await getNode(name);
    return kube("PUT", nodePath(name) + as(manager), { ...node, ...change(node) });
  }

  const withoutLabel = ({ metadata }: Node) => {
    const { "rollcall.dev/machine": _, ...labels } = metadata?.labels ?? {};
    return { metadata: { ...metadata, labels } };
  };
  const hasLabel = async (name: string) =>
    (await getNode(name)).metadata?.labels?.["rollcall.dev/machine"] !== undefined;

  async function given(name: string, status: string, more: object, manager: string): Promise<Node> {
    const node = await getNode(name);
    const conditions = (node.status?.conditions ?? []).map((each) =>
      each.type === "Ready" ? { ...each, status, ...more } : each,
    );
    const path = `${nodePath(name)}/status${as(manager)}`;
    return kube("PUT", path, { ...node, status: { ...node.status, conditions } });
  }

  it("cordon → NodeNotSchedulable at once, and no other request", async () => {
    await steady("notice-cordon");
    const node = await changed("notice-cordon", ({ spec }) => ({ spec: { ...spec, unschedulable: true } }));
    const requests = await requestsAfter("notice-cordon", () => objectOf("notice-cordon").noticeNode(node));
    expect(requests.filter((each) => !each.includes("/events"))).toEqual([]);
    const { items } = await kube<{ items: { reason: string; involvedObject: { name: string } }[] }>(
      "GET",
      "/api/v1/namespaces/default/events",
    );
    const reasons = items
      .filter(({ involvedObject }) => involvedObject.name === "notice-cordon")
      .map(({ reason }) => reason);
    expect(reasons).toContain("NodeNotSchedulable");
    // A second notice of an unchanged Node causes no request.
    expect(await requestsAfter("notice-cordon", () => objectOf("notice-cordon").noticeNode(node))).toEqual(
      [],
    );
  });

  it.each([
    ["sent along", true, ["PATCH"]],
    ["that came too late to be sent", false, ["GET", "PATCH"]],
  ])(
    "one of our labels is removed, the Node %s → put back at once, without a lease",
    async (how, isSent, methods) => {
      const name = `notice-label-${isSent}`;
      expect(how).not.toBe("");
      await steady(name);
      const node = await changed(name, withoutLabel);
      const requests = await requestsAfter(name, () => objectOf(name).noticeNode(isSent ? node : null));
      expect(requests.map((each) => each.split(" ")[0])).toEqual(methods);
      expect(await hasLabel(name)).toBe(true);
    },
  );

  it("another program labels and annotates it → no request, and no row", async () => {
    const name = "notice-annotated";
    await steady(name);
    const node = await changed(name, ({ metadata }) => ({
      metadata: {
        ...metadata,
        labels: { ...metadata?.labels, team: "blue" },
        annotations: { ...metadata?.annotations, "load.example.com/cpu": "0.4" },
      },
    }));
    const rows = () =>
      runInDurableObject(objectOf(name), (_, { storage }) =>
        storage.sql.exec("SELECT * FROM records").toArray(),
      );
    const before = await rows();
    expect(await requestsAfter(name, () => objectOf(name).noticeNode(node))).toEqual([]);
    expect(await rows()).toEqual(before);
  });

  test.each<[situation: string, afterMs: number, isBack: boolean]>([
    ["as old as its lease lasts → put back", 40_000, true],
    ["older → not written, since the machine may be dead", 40_001, false],
  ])("the last report is %s", async (_, afterMs, isBack) => {
    const name = `notice-old-${afterMs}`;
    const { pass, send } = await steady(name);
    const node = await changed(name, withoutLabel);
    pass(afterMs);
    await objectOf(name).noticeNode(node);
    expect(await hasLabel(name)).toBe(isBack);
    await send();
    expect(await hasLabel(name)).toBe(true);
  });

  it("the shim has restarted and could not register yet → its report writes nothing", async () => {
    const name = "notice-restarted";
    const machine = await enrolled(name);
    for (let each = 0; each < 2; each++) await shimOf(machine)(facts(name), HEALTHY);
    await setFault(name, { kind: "status", code: 500, of: "/api/v1/nodes" });
    const restarted = shimOf(machine, "start-2");
    expect(await restarted(facts(name), HEALTHY)).toMatchObject({ value: { phase: "apiserver refuses" } });
    await setFault(name, "");
    const node = await changed(name, withoutLabel);
    const requests = await requestsAfter(name, () => objectOf(name).noticeNode(node));
    expect(requests.filter((each) => !each.includes("/events"))).toEqual([]);
    await restarted(facts(name), HEALTHY);
    expect(await hasLabel(name)).toBe(true);
  });

  it("after an eviction → accepted, and nothing is written before the next report", async () => {
    await steady("notice-cold");
    const node = await changed("notice-cold", withoutLabel);
    await evictDurableObject(objectOf("notice-cold"));
    expect(await requestsAfter("notice-cold", () => objectOf("notice-cold").noticeNode(node))).toEqual([]);
    expect(await hasLabel("notice-cold")).toBe(false);
  });

  const OURS = [
    "rollcall.dev/machine",
    "rollcall.dev/deployment",
    "rollcall.dev/hostname",
    "rollcall.dev/os",
    "rollcall.dev/arch",
  ];

  it("again and again → three writes in a row, then one in ten seconds", async () => {
    const name = "notice-fight";
    const { pass } = await steady(name);
    let round = 0;
    // Removes another label each time: a label that is removed repeatedly is restored twice immediately, then hourly.
    const again = ({ metadata }: Node) => {
      const key = OURS[round++ % OURS.length] ?? "";
      const { [key]: _, ...labels } = metadata?.labels ?? {};
      return {
        metadata: { ...metadata, labels, annotations: { ...metadata?.annotations, round: `${round}` } },
      };
    };
    const writes = async () => {
      pass(1);
      const node = await changed(name, again);
      const requests = await requestsAfter(name, () => objectOf(name).noticeNode(node));
      return requests.filter((each) => !each.startsWith("GET")).length;
    };
    const inARow: number[] = [];
    for (let each = 0; each < 5; each++) inARow.push(await writes());
    expect(inARow).toEqual([1, 1, 1, 0, 0]);
    // The clock has moved at least three milliseconds since the first write.
    pass(RATE_LIMITS.statusBetweenReports.everyMs - 7);
    expect(await writes()).toBe(0);
    pass(7);
    expect([await writes(), await writes()]).toEqual([1, 0]);
  });

  it("the Node is deleted → the phase shows it without a report", async () => {
    await steady("notice-deleted");
    await kube("DELETE", nodePath("notice-deleted"));
    await objectOf("notice-deleted").noticeNode(null);
    expect(await shown("notice-deleted")).toMatchObject({ phase: "node deleted", isReady: false });
  });

  it("it is missing from the list alone → no change, since a GET finds it", async () => {
    await steady("notice-there");
    await objectOf("notice-there").noticeNode(null);
    expect(await shown("notice-there")).toMatchObject({ phase: "registered", isReady: true });
  });

  it("a kubelet writes its heartbeat → name taken, without a report", async () => {
    const name = "notice-taken";
    await steady(name);
    const lastHeartbeatTime = new Date(Date.now() + 5000).toISOString().replace(/\.\d+/, "");
    const node = await given(name, "False", { reason: "Other", lastHeartbeatTime }, "kubelet");
    await objectOf(name).noticeNode(node);
    expect(await shown(name)).toMatchObject({ phase: "name taken" });
  });

  it("gets another owner and its own owner again → the next report registers it at once", async () => {
    const name = "notice-owner";
    const { send } = await steady(name);
    const owned = (owner: string) =>
      changed(name, ({ metadata }) => ({
        metadata: { ...metadata, annotations: { ...metadata?.annotations, "rollcall.dev/owner": owner } },
      }));
    await objectOf(name).noticeNode(await owned("other"));
    expect(await send()).toMatchObject({ value: { phase: "name taken" } });
    await objectOf(name).noticeNode(await owned("rollcall"));
    expect(await send()).toMatchObject({ value: { phase: "registered" } });
  });

  describe("the node controller has set it to Unknown", () => {
    const CONTROLLER = "kube-controller-manager";

    it.each([
      ["warm", false],
      ["evicted", true],
    ])("its machine is silent, the object %s → silence is noted now", async (how, isCold) => {
      const name = `notice-silent-${how}`;
      const { pass } = await steady(name);
      const node = await given(name, "Unknown", { reason: "NodeStatusUnknown" }, CONTROLLER);
      if (isCold) await evictDurableObject(objectOf(name));
      // The last report is now just over a lease duration ago. The Node's heartbeat has whole seconds.
      pass(isCold ? 41_000 : 40_001);
      await objectOf(name).noticeNode(node);
      const { silentSince, phase } = await shown(name);
      expect([silentSince !== null, phase]).toEqual([true, "registered"]);
      expect((await getNode(name)).status?.conditions).toEqual(node.status?.conditions);
    });

    it("its machine may still report within its lease → the silence check follows at the lease's end", async () => {
      const name = "notice-soon-silent";
      const { pass } = await steady(name);
      const reportedMs = Date.now();
      const node = await given(name, "Unknown", { reason: "NodeStatusUnknown" }, CONTROLLER);
      pass(30_000);
      await objectOf(name).noticeNode(node);
      expect(await shown(name)).toMatchObject({ silentSince: null });
      const alarm = await runInDurableObject(objectOf(name), (_, { storage }) => storage.getAlarm());
      expect(alarm).toBe(reportedMs + 40_001);
    });

    it("its machine has just reported → nothing is written until its next report, which restores the Node", async () => {
      const name = "notice-recovers";
      const { send, pass } = await steady(name);
      const node = await given(name, "Unknown", { reason: "NodeStatusUnknown" }, CONTROLLER);
      pass(1000);
      await objectOf(name).noticeNode(node);
      expect(await shown(name)).toMatchObject({ isReady: false, silentSince: null });
      await send();
      expect(await shown(name)).toMatchObject({ isReady: true, silentSince: null });
    });
  });

  type Machine = Parameters<typeof shimOf>[0];

  /** Makes two machines with one key report in turns. */
  async function clone(machine: Machine, pass: (ms: number) => void): Promise<void> {
    const senders = ["one", "two"].map((id) => {
      const own = facts(machine.name);
      const report = shimOf(machine, id);
      return () => report({ ...own, machine: { ...own.machine!, bootID: `boot ${id}` } }, HEALTHY);
    });
    for (let turn = 0; turn < 12; turn++) {
      pass(5000);
      await senders[turn % 2]?.();
    }
    expect(await shown(machine.name)).toMatchObject({ phase: "cloned" });
  }

  it.each([
    ["clones", clone],
    ["revoked", ({ name }: Machine) => operator("POST", `/v1/nodes/${name}/revoke`)],
  ])("its machines are %s → nothing is written", async (how, make) => {
    const name = `notice-${how}`;
    const machine = await enrolled(name);
    const report = shimOf(machine);
    // The second report waits for the events of the first.
    for (let each = 0; each < 2; each++) await report(facts(name), HEALTHY);
    await make(machine, shift);
    const node = await changed(name, withoutLabel);
    const requests = await requestsAfter(name, () => objectOf(name).noticeNode(node));
    expect(requests).toEqual([]);
    expect(await hasLabel(name)).toBe(false);
  });

  it("no machine is enrolled under its name → no effect", async () => {
    const requests = await requestsAfter("notice-nobody", () =>
      objectOf("notice-nobody").noticeNode({ metadata: { name: "notice-nobody" } }),
    );
    expect(requests).toEqual([]);
  });
});
