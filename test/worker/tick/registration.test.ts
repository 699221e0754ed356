// Tests when a machine's Node is registered, with which requests, and the machine's answers until then.
import { beforeAll, describe, expect, it, test } from "vitest";
import { env } from "cloudflare:workers";
import type { Node, Taint } from "../../../shared/kubernetes/types.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import type { Deletion } from "../../../worker/storage/records.ts";
import { registerAgain } from "../../../worker/tick/registration.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { MAX_NODE_BYTES } from "../../../worker/tick/budgets.ts";
import { HEALTHY } from "../support/facts.ts";
import { statusResponse } from "../support/kube-in-between.ts";
import {
  type Kept,
  NAME,
  SteppingMachine,
  renewLease,
  register,
  writeStatus,
} from "../support/stepping-machine.ts";

const DEADLINE_MS = 4000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The report interval: 10 s. */
const INTERVAL_MS = 10_000;
const NOT_READY: Vitals = { ...HEALTHY, errors: { network: ["no network"] } };
const OWNER = "rollcall.dev/owner";

const CREATE = ["POST Node"];
/** The requests of a registration whose Node exists: the Node and its lease are read. */
const FIND = ["POST Node", "GET Node", "GET lease"];

type Machine = SteppingMachine;
type Outcome = Awaited<ReturnType<typeof register>>;

/** A registered, Ready machine with a written status. */
let steady: Kept;
/** A registered machine with a written status that is not Ready. */
let unwell: Kept;
beforeAll(async () => {
  const after = async (vitals: Vitals) => {
    const machine = new SteppingMachine();
    await register(machine.context(vitals), DEADLINE_MS);
    const renewal = await renewLease(machine.context(vitals), DEADLINE_MS);
    await writeStatus(machine.context(vitals), renewal, DEADLINE_MS);
    machine.nowMs += INTERVAL_MS;
    await writeStatus(machine.context(vitals), { ...renewal, lastContactMs: machine.nowMs }, DEADLINE_MS);
    machine.nowMs += 2 * HOUR_MS;
    return machine.keep();
  };
  steady = await after(HEALTHY);
  unwell = await after(NOT_READY);
});

async function registered(machine: Machine, vitals = HEALTHY, startId = "start-1") {
  machine.take();
  const context = machine.context(vitals, startId);
  const outcome = await register(context, DEADLINE_MS);
  return { outcome, asked: machine.take(), context };
}

/** Returns an existing Node, which is another writer's unless annotations or `more` change that. */
const nodeOf = (annotations: Record<string, string>, more: Partial<Node> = {}): Node => ({
  metadata: { name: NAME, uid: "theirs", resourceVersion: "7", labels: {}, annotations },
  spec: {},
  status: {},
  ...more,
});
const withNode =
  (annotations: Record<string, string>) =>
  ({ apiserver }: Machine) =>
    void (apiserver.node = nodeOf(annotations));
function renewedBy(manager: string, agoMs: number) {
  return (machine: Machine) => {
    const renewTime = new Date(machine.nowMs - agoMs).toISOString().replace("Z", "000Z");
    machine.apiserver.lease = {
      metadata: {
        name: NAME,
        resourceVersion: "7",
        managedFields: [{ manager, fieldsV1: { "f:spec": { "f:renewTime": {} } } }],
      },
      spec: { holderIdentity: NAME, leaseDurationSeconds: 40, renewTime },
    };
  };
}
const all =
  (...steps: ((machine: Machine) => void)[]) =>
  (machine: Machine) =>
    steps.forEach((step) => step(machine));
const answering =
  (response: () => Response, which = "") =>
  (machine: Machine) =>
    void (machine.inBetween = (asked) => (asked.startsWith(which) ? response() : undefined));
const neverCreated = (machine: Machine) => void (machine.facts.settings.registerNode = false);

describe("a first report", () => {
  const OURS = { [OWNER]: env.DEPLOYMENT };
  const OFFERED = { "rollcall.dev/adopt": env.DEPLOYMENT };
  test.each<
    [situation: string, before: (machine: Machine) => void, phase: Outcome["phase"], asked: string[]]
  >([
    ["no Node → created", () => undefined, "registered", CREATE],
    ["a Node of ours → reconciled", withNode(OURS), "registered", [...FIND, "PATCH status"]],
    ["a Node without an owner → name taken", withNode({}), "name taken", ["POST Node", "GET Node"]],
    [
      "a Node of another deployment's → name taken",
      withNode({ [OWNER]: "east" }),
      "name taken",
      ["POST Node", "GET Node"],
    ],
    [
      "a Node of ours whose lease a kubelet renews → name taken",
      all(withNode(OURS), renewedBy("kubelet", 0)),
      "name taken",
      FIND,
    ],
    [
      "a Node of ours whose lease a kubelet has not renewed for long → reconciled",
      all(withNode(OURS), renewedBy("kubelet", 40_001)),
      "registered",
      [...FIND, "PATCH status"],
    ],
    [
      "a Node of ours whose lease cannot be read → reconciled",
      all(
        withNode(OURS),
        answering(() => statusResponse(500, "InternalError"), "GET lease"),
      ),
      "registered",
      [...FIND, "PATCH status"],
    ],
    [
      "a Node that is offered, without a lease → adopted",
      withNode(OFFERED),
      "registered",
      [...FIND, "PATCH Node", "PATCH status"],
    ],
    [
      "a Node that is offered to another deployment → name taken",
      withNode({ "rollcall.dev/adopt": "other" }),
      "name taken",
      ["POST Node", "GET Node"],
    ],
    [
      "a Node that is offered, with its lease → name taken",
      all(withNode(OFFERED), renewedBy("other", 40_001)),
      "name taken",
      FIND,
    ],
    ["no Node, and none is created here → awaited", neverCreated, "waiting for Node", ["GET Node"]],
    [
      "a Node of ours, and none is created here → reconciled, without a try to create it",
      all(neverCreated, withNode(OURS)),
      "registered",
      ["GET Node", "GET lease", "PATCH status"],
    ],
    [
      "an apiserver that refuses → the phase states it",
      answering(() => statusResponse(500, "InternalError")),
      "apiserver refuses",
      CREATE,
    ],
    [
      "something else than the apiserver answers → unreachable",
      answering(() => new Response("<html>", { status: 502 })),
      "apiserver unreachable",
      CREATE,
    ],
  ])("%s", async (_, before, phase, asked) => {
    const machine = new SteppingMachine();
    before(machine);
    const was = JSON.stringify(machine.apiserver.node);
    const { outcome, asked: requests } = await registered(machine);
    expect([outcome.phase, requests]).toEqual([phase, asked]);
    if (phase === "registered") expect(machine.apiserver.node?.metadata?.annotations).toMatchObject(OURS);
    else expect(JSON.stringify(machine.apiserver.node)).toBe(was);
    expect("retryInMs" in outcome).toBe(phase.startsWith("apiserver"));
  });

  it("over a Node that is offered → its taints and annotations stay, next to ours", async () => {
    const machine = new SteppingMachine();
    const taint: Taint = { key: "example.com/other", value: "x", effect: "NoSchedule" };
    machine.apiserver.node = nodeOf({ ...OFFERED, kept: "yes" }, { spec: { taints: [taint] } });
    await registered(machine);
    const { metadata, spec } = machine.apiserver.node;
    expect(metadata?.annotations).toMatchObject({ ...OURS, kept: "yes" });
    expect(metadata?.annotations).not.toHaveProperty(["rollcall.dev/adopt"]);
    expect(metadata?.labels).toMatchObject({ "rollcall.dev/hostname": NAME });
    expect(spec?.taints).toEqual([taint, { key: "rollcall.dev/facts-only", effect: "NoSchedule" }]);
  });

  it.each([
    ["is Ready → NodeReady is an event", HEALTHY, true],
    ["is not Ready → none", NOT_READY, false],
  ])("of a machine that %s", async (_, vitals, isEvent) => {
    const machine = new SteppingMachine();
    await registered(machine, vitals);
    expect(machine.events.includes("NodeReady")).toBe(isEvent);
    expect(machine.records.get("registration")).toMatchObject({
      createdAtMs: machine.nowMs,
      enrolmentId: "e",
    });
    expect(machine.memory.status?.lastStatusReportTimeMs).toBe(machine.nowMs);
  });

  it("over a Node that was Ready before, without stored data → no event", async () => {
    const machine = new SteppingMachine();
    machine.apiserver.node = structuredClone(steady.apiserver.node);
    machine.nowMs = steady.nowMs;
    expect((await registered(machine)).outcome.phase).toBe("registered");
    expect(machine.events).not.toContain("NodeReady");
  });

  it("whose answer was lost → found with the next report, and still Ready", async () => {
    const machine = new SteppingMachine();
    machine.inBetween = async (asked, ask) => {
      if (!asked.startsWith("POST")) return undefined;
      await ask();
      return statusResponse(504, "Timeout");
    };
    expect((await registered(machine)).outcome.phase).toBe("apiserver refuses");
    machine.inBetween = undefined;
    expect((await registered(machine)).outcome.phase).toBe("registered");
    expect(machine.events.filter((reason) => reason === "NodeReady")).toHaveLength(1);
    // The time of the status's last write is unknown, so that the next report writes the status again.
    expect(machine.memory.status?.lastStatusReportTimeMs).toBeNull();
  });
});

describe("a further report", () => {
  it("of the same process → no request", async () => {
    const { outcome, asked } = await registered(new SteppingMachine(steady));
    expect([outcome, asked]).toEqual([{ phase: "registered" }, []]);
  });

  it("of a process that starts → its Node is read; the setters' memory is deleted", async () => {
    const machine = new SteppingMachine(steady);
    machine.memory.setters = {} as NonNullable<typeof machine.memory.setters>;
    const { outcome, asked } = await registered(machine, HEALTHY, "start-2");
    expect([outcome, asked.slice(0, 3)]).toEqual([{ phase: "registered" }, FIND]);
    expect(machine.memory.setters).toBeUndefined();
    expect(machine.records.get("process")?.startId).toBe("start-2");
  });

  it.each([
    ["a counter of the kernel's stays", 3],
    ["without one nothing stays", null],
  ])("of a process that starts: %s", async (_, kills) => {
    const machine = new SteppingMachine(steady);
    const memory = machine.records.get("memory")!;
    machine.records.put("memory", { ...memory, oom: { ...memory.oom, kills } });
    await registered(machine, HEALTHY, "start-2");
    expect(machine.records.get("memory")?.oom.kills ?? null).toBe(kills);
  });

  it("after failures → each waits longer, at random, up to 7 s; a success resets that", async () => {
    const machine = new SteppingMachine();
    answering(() => statusResponse(500, "InternalError"))(machine);
    const waits: (number | undefined)[] = [];
    for (let tries = 0; tries < 8; tries++) waits.push((await registered(machine)).outcome.retryInMs);
    // The delays are 200 ms, 400 ms and so on, less an eighth with this test's random number.
    expect(waits).toEqual([175, 350, 700, 1400, 2800, 5600, 6125, 6125]);
    machine.inBetween = undefined;
    await registered(machine);
    expect(machine.memory.registrationDelayMs).toBeUndefined();
  });

  test.each<[situation: string, phase: "name taken" | "waiting for Node", agoMs: number, asked: string[]]>([
    ["taken, just before a minute is over", "name taken", MINUTE_MS - 1, []],
    ["taken, a minute later", "name taken", MINUTE_MS, ["GET Node", ...CREATE]],
    ["taken, by a clock that was put back", "name taken", -1, ["GET Node", ...CREATE]],
    ["awaited", "waiting for Node", 0, ["GET Node"]],
  ])("while the name is %s", async (_, phase, agoMs, asked) => {
    const machine = new SteppingMachine();
    machine.records.put("registration", { startId: "start-1", phase });
    machine.memory.lookedAtMs = machine.nowMs - agoMs;
    if (phase === "waiting for Node") neverCreated(machine);
    const { outcome, asked: requests } = await registered(machine);
    expect([outcome.phase, requests]).toEqual([asked.includes("POST Node") ? "registered" : phase, asked]);
  });

  it("while the name is taken, after an eviction → one read", async () => {
    const machine = new SteppingMachine();
    machine.records.put("registration", { startId: "start-1", phase: "name taken" });
    expect((await registered(machine)).asked).toEqual(["GET Node", ...CREATE]);
  });

  it("while the name is taken, and still is → one warning", async () => {
    const machine = new SteppingMachine();
    withNode({})(machine);
    await registered(machine);
    machine.nowMs += MINUTE_MS;
    expect((await registered(machine)).asked).toEqual(["GET Node"]);
    expect(machine.events.filter((reason) => reason === "NodeNameTaken")).toHaveLength(1);
  });
});

describe("a registration that must wait", () => {
  const ASKS = "its requests to the apiserver are used up: it is registered later";
  const STARTED = "its shim was started too often: it is registered again later";
  const TOO_LARGE = `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not created`;
  const spent = (requests: number) => (machine: Machine) =>
    machine.limitRequests(
      20,
      Array.from({ length: requests }, () => "node"),
    );
  const started = (left: number, agoMs: number) => (machine: Machine) =>
    machine.records.put("process", {
      startId: "start-0",
      registrations: { left, atMs: machine.nowMs - agoMs },
    });
  const large = ({ facts }: Machine) =>
    void (facts.settings.nodeLabels = { "example.com/a": "x".repeat(MAX_NODE_BYTES) });

  test.each<
    [situation: string, before: (machine: Machine) => void, message: string | undefined, retryInMs?: number]
  >([
    ["for the four requests that it may take", spent(9), ASKS, INTERVAL_MS],
    ["for nothing, where four are left", spent(8), undefined],
    ["since its shim has started too often", started(0, 0), STARTED, INTERVAL_MS],
    ["for less than an interval, where that is enough", started(0.875, 0), STARTED, 7500],
    ["for nothing, a minute later", started(0, RATE_LIMITS.registrations.everyMs), undefined],
    ["for ever: it is too large", large, TOO_LARGE, INTERVAL_MS],
  ])("%s", async (_, before, message, retryInMs) => {
    const machine = new SteppingMachine();
    before(machine);
    const { outcome, asked } = await registered(machine);
    if (message === undefined) return expect(outcome).toEqual({ phase: "registered" });
    expect([outcome, asked]).toEqual([{ phase: "registering", message, retryInMs }, []]);
  });
});

describe("a Node that was deleted", () => {
  const soon = "Its Node was deleted. It is registered again with the first report that would make it Ready";
  const gone = "Its Node was deleted while it was Ready. ";
  const deleted =
    (more: Partial<Deletion> = {}) =>
    (machine: Machine) => {
      machine.apiserver.node = undefined;
      machine.records.put("registration", { ...machine.records.get("registration")!, phase: "node deleted" });
      const atMs = machine.nowMs - MINUTE_MS;
      machine.records.put("deletion", { atMs, wasReady: false, waitMs: MINUTE_MS, soon: 0, ...more });
    };
  const policy = (of: Machine["registerAgain"]) => (machine: Machine) => void (machine.registerAgain = of);

  test.each<
    [
      situation: string,
      before: (machine: Machine) => void,
      vitals: Vitals,
      phase: Outcome["phase"],
      message?: string,
    ]
  >([
    ["while it was not Ready, a minute ago → made again", deleted(), HEALTHY, "registered"],
    ["while it was not Ready, and is not → when it would be", deleted(), NOT_READY, "node deleted", soon],
    [
      "while it was not Ready, less than a minute ago → then",
      (machine) => deleted({ atMs: machine.nowMs - MINUTE_MS + 1 })(machine),
      HEALTHY,
      "node deleted",
      `${soon}, from `,
    ],
    ["while it was Ready → not", deleted({ wasReady: true }), HEALTHY, "node deleted", gone],
    [
      "while it was Ready, always → made again",
      all(policy("always"), deleted({ wasReady: true })),
      HEALTHY,
      "registered",
    ],
    [
      "while it was not Ready, never → not",
      all(policy("never"), deleted()),
      HEALTHY,
      "node deleted",
      "Its Node was deleted. To",
    ],
    ["three times soon → not", deleted({ soon: 3 }), HEALTHY, "node deleted", "3 times."],
    [
      "by the Worker, after a silence, and is not Ready → made again",
      deleted({ silentDays: 30 }),
      NOT_READY,
      "registered",
    ],
  ])("%s", async (_, before, vitals, phase, message) => {
    const machine = new SteppingMachine(unwell);
    before(machine);
    const rows = machine.records.writes;
    const { outcome, asked } = await registered(machine, vitals);
    expect([outcome.phase, asked]).toEqual([phase, phase === "registered" ? CREATE : []]);
    if (phase === "registered") return;
    expect(outcome.message).toContain(message);
    expect([machine.records.writes - rows, machine.events]).toEqual([0, []]);
  });

  it("with a process of the shim that starts → created again, and deletions are counted from zero", async () => {
    const machine = new SteppingMachine(steady);
    deleted({ wasReady: true, soon: 3 })(machine);
    expect((await registered(machine, HEALTHY, "start-2")).outcome.phase).toBe("registered");
    expect(machine.records.get("deletion")).toBeUndefined();
  });

  it("until an operator asks to register it again → created again", async () => {
    const machine = new SteppingMachine(steady);
    deleted({ wasReady: true })(machine);
    expect(registerAgain(machine.records, machine.context().journal, machine.nowMs)).toBe(true);
    expect(machine.records.get("registration")).toMatchObject({ phase: "registered", enrolmentId: "e" });
    expect((await registered(machine)).outcome.phase).toBe("registered");
    expect(machine.notes).toContain("registration: an operator asked to register again");
  });

  it("of a machine that was never registered → nothing to register again", () => {
    const machine = new SteppingMachine();
    expect(registerAgain(machine.records, machine.context().journal, machine.nowMs)).toBe(false);
    expect(machine.records.get("registration")).toBeUndefined();
  });

  it("and another writer's Node has its name → name taken", async () => {
    const machine = new SteppingMachine(unwell);
    deleted()(machine);
    machine.apiserver.node = nodeOf({});
    const { outcome, asked } = await registered(machine);
    expect([outcome.phase, asked]).toEqual(["name taken", ["POST Node", "GET Node"]]);
    expect(machine.apiserver.node).toEqual(nodeOf({}));
  });

  test.each<[situation: string, kept: () => Kept, startId: string, enrolmentId: string, keeps: boolean]>([
    ["by the same process → with cordon and others' taints", () => unwell, "start-1", "e", true],
    ["by a process that starts, where it was not Ready → the same", () => unwell, "start-2", "e", true],
    ["by a process that starts, where it was Ready → as a kubelet's", () => steady, "start-2", "e", false],
    ["by another machine that has the name now → as a new one", () => unwell, "start-2", "e2", false],
  ])("made again %s", async (_, kept, startId, enrolmentId, keeps) => {
    const machine = new SteppingMachine(kept());
    const known = machine.records.get("node")!;
    const theirs: Taint = { key: "example.com/broken", value: "disk", effect: "NoSchedule" };
    const unreachable: Taint = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };
    const own = known.node.spec?.taints ?? [];
    const spec = { ...known.node.spec, unschedulable: true, taints: [...own, theirs, unreachable] };
    machine.records.put("node", { ...known, node: { ...known.node, spec } });
    deleted()(machine);
    machine.enrolmentId = enrolmentId;
    expect((await registered(machine, HEALTHY, startId)).outcome.phase).toBe("registered");
    const { unschedulable, taints } = machine.apiserver.node?.spec ?? {};
    expect([unschedulable, taints]).toEqual(keeps ? [true, [...own, theirs]] : [undefined, own]);
  });
});

test("a Node for pods without its taint → keeps the values of other writers that are also bystanders' marks", async () => {
  const machine = new SteppingMachine(steady);
  machine.grant = { withoutFactsOnlyTaint: true };
  const labels = {
    "node.kubernetes.io/exclude-disruption": "",
    "failure-domain.beta.kubernetes.io/region": "north",
  };
  machine.apiserver.node = nodeOf(
    { [OWNER]: env.DEPLOYMENT },
    { metadata: { ...machine.apiserver.node?.metadata, labels } },
  );
  await registered(machine, HEALTHY, "start-2");
  expect(machine.apiserver.node?.metadata?.labels).toMatchObject(labels);
});
