// Tests when a Node's status is written, over which version, and what is stored after a failure or during a wait.
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, test } from "vitest";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { fieldManagerOf } from "../../../worker/kube/connect.ts";
import { MAX_NODE_BYTES, STATUS_BUDGET } from "../../../worker/tick/budgets.ts";
import { dueInMs, isContestable, isStatusDue, ofVersion } from "../../../worker/tick/status.ts";
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import { HEALTHY } from "../support/facts.ts";
import { statusResponse } from "../support/kube-in-between.ts";
import {
  type Kept,
  type StepContext,
  SteppingMachine,
  renewLease,
  register,
  writeStatus,
} from "../support/stepping-machine.ts";

const DEADLINE_MS = 4000;
const EVERY_MS = 300_000;
const DOWN: Vitals = { ...HEALTHY, errors: { runtime: ["down"] } };
const FRESH = { renewed: true, error: null, wasFresh: true } as const;
const WRITTEN = "PATCH status";
const FROM_CACHE = "GET Node?resourceVersion=0";

type Machine = SteppingMachine;

/** A registered machine with a status that was written 10 s ago, whose object is in memory. */
let steady: Kept;
beforeAll(async () => {
  const machine = new SteppingMachine();
  await register(machine.context(), DEADLINE_MS);
  await writeStatus(machine.context(), await renewLease(machine.context(), DEADLINE_MS), DEADLINE_MS);
  // The second write reads the stored Node once. The tests begin after that read.
  machine.nowMs += 10_000;
  await written(machine);
  machine.nowMs += 10_000;
  steady = machine.keep();
});

async function written(machine: Machine, vitals = HEALTHY, more: Partial<StepContext> = {}, wasFresh = true) {
  machine.take();
  const context = { ...machine.context(vitals), ...more };
  const lastContactMs = wasFresh ? machine.nowMs - 10_000 : machine.nowMs;
  const outcome = await writeStatus(context, { ...FRESH, wasFresh, lastContactMs }, DEADLINE_MS);
  return { outcome, asked: machine.take(), context };
}

const versionOf = ({ apiserver }: Machine) => apiserver.node?.status?.nodeInfo?.kubeletVersion;
const readyOf = ({ apiserver }: Machine) =>
  apiserver.node?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
const due = (machine: Machine) => void (machine.nowMs += EVERY_MS);
const readAgain = ({ records }: Machine) => records.put("node", { ...records.get("node")!, readAgain: true });
const spentBytes = (machine: Machine, bytes: number, urgent = 0) => {
  machine.memory.budget = { bytes, urgent, atMs: machine.nowMs };
};
const all =
  (...steps: ((machine: Machine) => void)[]) =>
  (machine: Machine) =>
    steps.forEach((step) => step(machine));

describe("a status between two reports, because another writer has changed the Node", () => {
  const between = { isBetweenReports: true } as const;
  const beatOf = ({ apiserver }: Machine) => apiserver.node?.status?.conditions?.at(-1)?.lastHeartbeatTime;

  it("that has changed → written without a heartbeat, which only a report is", async () => {
    const machine = new SteppingMachine(steady);
    const [beat, due] = [beatOf(machine), machine.memory.status?.lastStatusReportTimeMs];
    const { asked } = await written(machine, DOWN, between);
    expect([asked, readyOf(machine), beatOf(machine)]).toEqual([[WRITTEN], "False", beat]);
    expect(machine.memory.status?.lastStatusReportTimeMs).toBe(due);
  });

  it("whose time has come → waits for the next report", async () => {
    const machine = new SteppingMachine(steady);
    machine.nowMs += EVERY_MS;
    machine.isWatched = true;
    expect((await written(machine, HEALTHY, between)).asked).toEqual([]);
  });
});

describe("a status", () => {
  const nothing = () => undefined;
  const watched = (machine: Machine) => void (machine.isWatched = true);
  test.each<
    [
      situation: string,
      before: (machine: Machine) => void,
      vitals: Vitals,
      wasFresh: boolean,
      asked: string[],
    ]
  >([
    ["that is as it was, its time not come → nothing", nothing, HEALTHY, true, []],
    ["that has changed → written over the known Node", nothing, DOWN, true, [WRITTEN]],
    [
      "whose time has come → others' changes are looked for in the cache",
      due,
      HEALTHY,
      true,
      [FROM_CACHE, WRITTEN],
    ],
    ["whose time has come, others' changes known → written", all(due, watched), HEALTHY, true, [WRITTEN]],
    [
      "whose time has come, others' changes known, but another writer keeps a label → looked for in the cache",
      all(due, watched, ({ records }) => records.put("others", { "label tier": "kubectl-label" })),
      HEALTHY,
      true,
      [FROM_CACHE, WRITTEN],
    ],
    ["that has changed as its time came → read all the same", due, DOWN, true, [FROM_CACHE, WRITTEN]],
    ["after a gap in the renewals → the Node is read for certain", nothing, HEALTHY, false, ["GET Node"]],
    ["after such a gap, the Node watched → read for certain", watched, HEALTHY, false, ["GET Node"]],
    ["after a write with an unknown outcome → read for certain", readAgain, HEALTHY, true, ["GET Node"]],
    [
      "after that, as its time has come → not from the cache",
      all(due, readAgain),
      HEALTHY,
      true,
      ["GET Node", WRITTEN],
    ],
    [
      "of an object that was evicted → as its row has it",
      (machine) => machine.evict(),
      DOWN,
      true,
      [WRITTEN],
    ],
    ["of an object that was evicted, as it was → nothing", (machine) => machine.evict(), HEALTHY, true, []],
    [
      "by a clock that went back a day → written now",
      (machine) => void (machine.nowMs -= 86_400_000),
      HEALTHY,
      true,
      [FROM_CACHE, WRITTEN],
    ],
  ])("%s", async (_, before, vitals, wasFresh, asked) => {
    const machine = new SteppingMachine(steady);
    before(machine);
    const { outcome, asked: requests } = await written(machine, vitals, {}, wasFresh);
    expect([outcome.ok, requests]).toEqual([true, asked]);
    if (asked.includes(WRITTEN)) expect(readyOf(machine)).toBe(vitals === DOWN ? "False" : "True");
  });

  it("with a drop-in's condition, the Node annotated since → conflicts once, and is written over the Node as read", async () => {
    const machine = new SteppingMachine(steady);
    machine.isWatched = true;
    const condition = { type: "RaidDegraded", status: "False", reason: "Well", message: "md0" } as const;
    const conditions = [{ ...condition, expiresInSeconds: 3600 }];
    machine.facts.dropIns = { resources: {}, labels: {}, conditions, working: 1, failures: [] };
    const vitals = { ...HEALTHY, remainingSeconds: { RaidDegraded: 3600 } };
    expect((await written(machine, vitals)).asked).toEqual([WRITTEN]);
    const { node } = machine.apiserver;
    const annotations = { ...node?.metadata?.annotations, "load.example.com/cpu": "0.4" };
    machine.apiserver.node = {
      ...node,
      metadata: { ...node?.metadata, annotations, resourceVersion: "1000" },
    };
    machine.nowMs += 2 * EVERY_MS;
    expect((await written(machine, vitals)).asked).toEqual([WRITTEN, "GET Node", WRITTEN]);
  });

  it("that does not know its Node → a bug", async () => {
    await expect(written(new SteppingMachine())).rejects.toThrow("a registered Node that is not known");
  });
});

describe("the status is due", () => {
  test.each<[situation: string, lastMs: number | null, shiftMs: number, inMs: number]>([
    ["a period after the last write", -EVERY_MS, 0, 0],
    ["a millisecond later", -EVERY_MS + 1, 0, 1],
    ["later by its shift", -EVERY_MS, 7000, 7000],
    ["sooner by its shift", -EVERY_MS + 7000, -7000, 0],
    ["at once, where it was never written", null, 0, 0],
    ["at once, where that is ahead of the clock", 1, 0, 0],
    ["in a period, where it was written just now", 0, 0, EVERY_MS],
  ])("%s", (_, lastMs, delayAfterNodeStatusChangeMs, inMs) => {
    const machine = new SteppingMachine(steady);
    const lastStatusReportTimeMs = lastMs === null ? null : machine.nowMs + lastMs;
    machine.memory.status = { lastStatusReportTimeMs, delayAfterNodeStatusChangeMs };
    const context = machine.context();
    expect([dueInMs(context, machine.nowMs), isStatusDue(context, machine.nowMs)]).toEqual([
      inMs,
      inMs === 0,
    ]);
  });

  it("by the row after an eviction; at once without a row", () => {
    const machine = new SteppingMachine(steady);
    machine.evict();
    const { lastStatusReportTimeMs, delayAfterNodeStatusChangeMs } = machine.records.get("node")!;
    const dueMs = lastStatusReportTimeMs! + EVERY_MS + delayAfterNodeStatusChangeMs;
    expect(dueInMs(machine.context(), dueMs - 5)).toBe(5);
    expect(dueInMs(new SteppingMachine().context(), 0)).toBe(0);
  });
});

describe("a write that must wait", () => {
  const ASKS = "its requests to the apiserver are used up: what changed is written later";
  const CHANGES = "its Node changes too often: what changed is written later";
  const TOO_LARGE = `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not written`;
  /** Makes the Node large, as another writer would. */
  const large = ({ records }: Machine) => {
    const { node, ...known } = records.get("node")!;
    const annotations = { ...node.metadata?.annotations, note: "x".repeat(MAX_NODE_BYTES) };
    records.put("node", { ...known, node: { ...node, metadata: { ...node.metadata, annotations } } });
  };
  const noRequests = (machine: Machine) =>
    machine.limitRequests(
      10,
      Array.from({ length: 6 }, () => "node"),
    );
  const oneRequest = (machine: Machine) =>
    machine.limitRequests(
      10,
      Array.from({ length: 5 }, () => "node"),
    );

  test.each<
    [situation: string, before: (machine: Machine) => void, vitals: Vitals, why: string, asked: string[]]
  >([
    ["for the machine's requests", noRequests, DOWN, ASKS, []],
    ["for a second request, where the Node has to be read", all(readAgain, oneRequest), DOWN, ASKS, []],
    ["for its bytes", all(due, (machine) => spentBytes(machine, 10)), HEALTHY, CHANGES, [FROM_CACHE]],
    ["for its bytes, and for what is urgent", (machine) => spentBytes(machine, 10, 0.9), DOWN, CHANGES, []],
    ["for ever: it is too large", large, DOWN, TOO_LARGE, []],
  ])("%s → reported once, and no failure", async (_, before, vitals, why, asked) => {
    const machine = new SteppingMachine(steady);
    before(machine);
    const { outcome, asked: requests } = await written(machine, vitals);
    expect([outcome.ok, requests, machine.memory.withheld]).toEqual([true, asked, why]);
    await written(machine, vitals);
    expect(machine.notes.filter((note) => note.startsWith("apiserver: "))).toEqual([`apiserver: ${why}`]);
  });

  it("is decided all the same: its events are created", async () => {
    const machine = new SteppingMachine(steady);
    noRequests(machine);
    await written(machine, DOWN);
    expect(machine.events).toContain("NodeNotReady");
  });

  it.each<[situation: string, before: (machine: Machine) => void, vitals: Vitals]>([
    ["one request is left for one that needs one", oneRequest, DOWN],
    ["it stops being Ready, and one urgent write is left", (machine) => spentBytes(machine, 10, 1), DOWN],
  ])("but not where %s", async (_, before, vitals) => {
    const machine = new SteppingMachine(steady);
    before(machine);
    expect((await written(machine, vitals)).asked).toEqual([WRITTEN]);
    expect(machine.memory.withheld).toBeUndefined();
  });

  it("is sent with a later report; from then on nothing waits", async () => {
    const machine = new SteppingMachine(steady);
    spentBytes(machine, 10);
    await written(machine, DOWN);
    expect(readyOf(machine)).toBe("True");
    machine.nowMs += 60_000;
    await written(machine, DOWN);
    expect([readyOf(machine), machine.memory.withheld]).toEqual(["False", undefined]);
  });

  it("costs its budget, with or without success", async () => {
    const machine = new SteppingMachine(steady);
    machine.memory.budget = undefined;
    machine.inBetween = (asked) => (asked === WRITTEN ? statusResponse(422, "Invalid") : undefined);
    await written(machine, DOWN);
    expect(machine.context().memory.budget?.bytes).toBeLessThan(STATUS_BUDGET.bytesAtOnce - 1000);
  });
});

describe("a write that fails", () => {
  const failing =
    (asked: string, code = 500) =>
    (machine: Machine) =>
      void (machine.inBetween = (each) => (each === asked ? statusResponse(code, "Failed") : undefined));
  const fewRequests = (machine: Machine) => machine.limitRequests(10, []);

  test.each<[situation: string, before: (machine: Machine) => void, asked: string[]]>([
    [
      "→ tried five times, each over the Node as it is by then",
      failing(WRITTEN),
      [WRITTEN, ...Array.from({ length: 4 }, () => ["GET Node", WRITTEN]).flat()],
    ],
    ["of a machine with few requests → tried once", all(fewRequests, failing(WRITTEN)), [WRITTEN]],
    [
      "after one that failed → tried once",
      (machine) => {
        failing(WRITTEN)(machine);
        machine.memory.statusBackOff = {
          error: { kind: "unanswered", message: "" },
          tries: 2,
          atMs: machine.nowMs,
          everyMs: 1,
        };
      },
      [WRITTEN],
    ],
    [
      "after a lease that failed → tried once",
      (machine) => {
        failing(WRITTEN)(machine);
        const error = { kind: "unanswered", message: "" } as const;
        machine.memory.leaseBackOff = { error, tries: 2, atMs: machine.nowMs, everyMs: 1 };
      },
      [WRITTEN],
    ],
    [
      "to read the Node → tried five times",
      all(readAgain, failing("GET Node")),
      Array.from({ length: 5 }, () => "GET Node"),
    ],
  ])("%s; the next one reads the Node", async (_, before, asked) => {
    const machine = new SteppingMachine(steady);
    before(machine);
    const { outcome, asked: requests } = await written(machine, DOWN);
    expect([outcome.ok, requests]).toEqual([false, asked]);
    expect(machine.records.get("node")?.readAgain).toBe(true);
    // A status that is not sent is decided as well, so that its event is recorded once.
    expect(machine.events.filter((reason) => reason === "NodeNotReady")).toHaveLength(1);
    machine.inBetween = undefined;
    machine.evict();
    expect((await written(machine, DOWN)).asked).toEqual(["GET Node", WRITTEN]);
    expect(machine.events.filter((reason) => reason === "NodeNotReady")).toHaveLength(1);
    expect([readyOf(machine), machine.records.get("node")?.readAgain]).toEqual(["False", false]);
  });

  it("four times in a row → no further request, and the error stays", async () => {
    const machine = new SteppingMachine(steady);
    failing(WRITTEN)(machine);
    for (let report = 0; report < 4; report++) await written(machine, DOWN);
    const { outcome, asked } = await written(machine, DOWN);
    expect(asked).toEqual([]);
    expect(outcome).toMatchObject({ ok: false, error: { status: { code: 500 } } });
  });

  it("by a lost answer → a change back is written, also after an eviction", async () => {
    const machine = new SteppingMachine(steady);
    machine.inBetween = async (asked, ask) => {
      if (asked !== WRITTEN) return asked === "GET Node" ? statusResponse(500, "Failed") : undefined;
      await ask();
      return statusResponse(500, "Failed");
    };
    await written(machine, DOWN);
    expect(readyOf(machine)).toBe("False");
    // The sent conditions are stored for the next read of the Node.
    const sent: unknown = expect.arrayContaining([
      expect.objectContaining({ type: "Ready", status: "False" }),
    ]);
    expect(machine.records.get("node")).toMatchObject({ readAgain: true, sent });
    machine.inBetween = undefined;
    machine.evict();
    await written(machine);
    expect(readyOf(machine)).toBe("True");
  });

  it("over a Node that another writer changed meanwhile → that Node is known from then on", async () => {
    const machine = new SteppingMachine(steady);
    readAgain(machine);
    machine.apiserver.node!.metadata!.labels!["team"] = "a";
    failing(WRITTEN, 422)(machine);
    await written(machine, DOWN);
    expect(machine.records.get("node")?.node.metadata?.labels).toHaveProperty("team");
  });

  test.each<[situation: string, change: (machine: Machine) => void, phase: string]>([
    ["is gone", (machine) => Object.assign(machine.apiserver, { node: undefined }), "node deleted"],
    ["is another one", ({ apiserver }) => void (apiserver.node!.metadata!.uid = "other"), "node deleted"],
    [
      "has lost its owner",
      ({ apiserver }) => void delete apiserver.node!.metadata!.annotations!["rollcall.dev/owner"],
      "name taken",
    ],
  ])("since the Node %s → lost, and not a write", async (_, change, phase) => {
    const machine = new SteppingMachine(steady);
    readAgain(machine);
    change(machine);
    const { outcome, asked, context } = await written(machine, DOWN);
    expect([outcome.ok, context.lost?.phase]).toEqual([false, phase]);
    expect(asked).toEqual(["GET Node"]);
  });
});

describe("the heartbeat of a Node that is read", () => {
  test.each<[situation: string, manager: string, byMs: number, phase: string | undefined]>([
    ["written by a kubelet since → name taken", "kubelet", 1000, "name taken"],
    ["last written by a kubelet, but known → written", "kubelet", 0, undefined],
    ["written by this deployment → written", fieldManagerOf(env.DEPLOYMENT), 1000, undefined],
  ])("%s", async (_, manager, byMs, phase) => {
    const machine = new SteppingMachine(steady);
    readAgain(machine);
    const { metadata, status } = machine.apiserver.node!;
    const beat = { "f:conditions": { 'k:{"type":"Ready"}': { "f:lastHeartbeatTime": {} } } };
    metadata!.managedFields = [{ manager, fieldsV1: { "f:status": beat } }];
    for (const condition of status!.conditions!) {
      const atMs = Date.parse(condition.lastHeartbeatTime!) + byMs;
      condition.lastHeartbeatTime = new Date(atMs).toISOString().replace(/\.\d+/, "");
    }
    const { context, asked } = await written(machine, DOWN);
    expect([context.lost?.phase, asked.includes(WRITTEN)]).toEqual([phase, phase === undefined]);
  });
});

describe("rows", () => {
  const beats = async (machine: Machine, count: number, vitals: Vitals) => {
    for (let beat = 0; beat < count; beat++) {
      machine.nowMs += 10_000;
      await written(machine, vitals);
    }
  };
  const GIB = 2 ** 30;
  const PRESSED: Vitals = {
    ...HEALTHY,
    signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * GIB] },
  };

  it.each([
    ["a machine whose status is as it was, also as its time comes", HEALTHY],
    ["a pressure that goes on", PRESSED],
  ])("%s → none", async (_, vitals) => {
    const machine = new SteppingMachine(steady);
    await beats(machine, 2, vitals);
    machine.records.writes = 0;
    await beats(machine, 40, vitals);
    expect(machine.records.writes).toBe(0);
  });

  const HOUR_MS = 3_600_000;
  test.each<[situation: string, field: "labels" | "annotations", key: string, afterMs: number, rows: number]>(
    [
      ["a label of another program", "labels", "team", EVERY_MS, 1],
      ["a list of rollcall", "annotations", "rollcall.dev/node-labels", EVERY_MS, 1],
      ["an annotation of another program", "annotations", "load.example.com/cpu", EVERY_MS, 0],
      [
        "such an annotation, the row almost an hour old",
        "annotations",
        "load.example.com/cpu",
        HOUR_MS - 1,
        0,
      ],
      ["such an annotation, the row an hour old", "annotations", "load.example.com/cpu", HOUR_MS, 1],
    ],
  )("%s has changed → stored with the next status: %s %s %i ms %i", async (_, field, key, afterMs, rows) => {
    const machine = new SteppingMachine(steady);
    machine.isWatched = true;
    machine.nowMs = machine.records.get("node")!.lastStatusReportTimeMs! + afterMs;
    const { node } = machine.apiserver;
    const changed = { ...node?.metadata?.[field], [key]: "x" };
    machine.apiserver.node = { ...node, metadata: { ...node?.metadata, [field]: changed } };
    machine.records.writes = 0;
    expect((await written(machine)).asked).toEqual([WRITTEN]);
    expect(machine.records.writes).toBe(rows);
    const stored = machine.records.get("node")?.node.metadata?.[field] ?? {};
    expect(Object.hasOwn(stored, key)).toBe(rows === 1);
  });

  it("errors of the setters → one log line at their start, one at their end", async () => {
    const machine = new SteppingMachine(steady);
    machine.memory.setterErrors = "before";
    await written(machine);
    await written(machine);
    expect(machine.notes.filter((note) => note.includes("setters"))).toEqual(["log: setters: well"]);
  });
});

describe("the precondition of a patch", () => {
  const conditions = (...types: string[]) => ({ status: { conditions: types.map((type) => ({ type })) } });

  test.each<[string, JsonObject, boolean]>([
    ["nothing", {}, false],
    [
      "heartbeats of the kubelet's conditions",
      conditions("MemoryPressure", "DiskPressure", "PIDPressure", "Ready"),
      false,
    ],
    ["images", { status: { images: [] } }, false],
    ["another condition", conditions("Ready", "ReadonlyFilesystem"), true],
    ["labels", { metadata: { labels: { a: "b" } } }, true],
    ["annotations", { metadata: { annotations: { a: "b" } } }, true],
    ["capacity", { status: { capacity: { cpu: "2" } } }, true],
    ["allocatable", { status: { allocatable: { cpu: "2" } } }, true],
    ["addresses", { status: { addresses: [] } }, true],
    ["its spec", { spec: { providerID: "x://y" } }, true],
  ])("%s → %s", (_, patch, outcome) => {
    expect(isContestable(patch)).toBe(outcome);
  });

  it("the version is the patch's precondition, in addition to other metadata", () => {
    const patch = { metadata: { labels: { a: "b" } }, status: {} };
    expect(ofVersion(patch, "7")).toEqual({
      metadata: { labels: { a: "b" }, resourceVersion: "7" },
      status: {},
    });
    expect(ofVersion({ status: {} }, "7")).toEqual({ metadata: { resourceVersion: "7" }, status: {} });
    expect(ofVersion(patch, undefined)).toBe(patch);
  });
});

describe("the version that the Node reports, after the cluster's has changed", () => {
  test.each<[situation: string, before: number | undefined, minor: number | undefined, due: string]>([
    ["higher → with the next periodic write", 36, 37, "v1.37.0"],
    ["lower → with the next periodic write", 37, 36, "v1.36.0"],
    ["above the newest compared version → that version", 36, 99, "v1.37.0"],
    ["an object that does not know it, as after an eviction → unchanged", 37, undefined, "v1.37.0"],
    ["never known → the oldest compared version", undefined, undefined, "v1.36.0"],
  ])("%s", async (_, before, minor, atLast) => {
    const machine = new SteppingMachine(steady);
    machine.isWatched = true;
    machine.clusterMinor = before;
    due(machine);
    await written(machine);
    const first = versionOf(machine);
    machine.clusterMinor = minor;
    machine.nowMs += 10_000;
    expect((await written(machine)).asked).toEqual([]);
    // A change of the machine is written at once, but still with the former version.
    await written(machine, DOWN);
    expect(versionOf(machine)).toBe(first);
    due(machine);
    expect((await written(machine, DOWN)).asked).toEqual([WRITTEN]);
    expect(versionOf(machine)).toMatch(new RegExp(`^${atLast}-rollcall-v`));
  });
});
