// Tests when a lease is renewed, with which requests, and what the answer to a renewal shows about the Node.
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, test } from "vitest";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import { UNWATCHED_LABEL } from "../../../shared/node/ownership.ts";
import { fieldManagerOf } from "../../../worker/kube/connect.ts";
import type { NodeRecords } from "../../../worker/storage/records.ts";
import type { TickMemory } from "../../../worker/tick/memory.ts";
import { budgetInLease, lastContact, lentLease, renewedAtOf } from "../../../worker/tick/lease.ts";
import { emptyBudget, STATUS_BUDGET } from "../../../worker/tick/budgets.ts";
import { statusResponse } from "../support/kube-in-between.ts";
import {
  type Kept,
  NAME,
  SteppingMachine,
  renewLease,
  register,
  writeStatus,
} from "../support/stepping-machine.ts";

const MS = 1000;
const OURS = fieldManagerOf(env.DEPLOYMENT);
/** The lease duration in the facts of these tests: 40 s. */
const LEASE_MS = 40_000;
const DEADLINE_MS = 3000;

/** The requests of a failing PUT, which is repeated once. */
const TWICE = ["PUT lease", "PUT lease"];
const CREATE = ["GET lease", "GET Node", "POST lease"];

/** A registered machine with a renewed lease and a written status, whose object is in memory. */
let steady: Kept;
beforeAll(async () => {
  const machine = new SteppingMachine();
  await register(machine.context(), DEADLINE_MS);
  const renewal = await renewLease(machine.context(), DEADLINE_MS);
  await writeStatus(machine.context(), renewal, DEADLINE_MS);
  machine.nowMs += 10_000;
  await renewLease(machine.context(), DEADLINE_MS);
  machine.nowMs += 10_000;
  steady = machine.keep();
});

type Machine = SteppingMachine;
const cold = (machine: Machine) => machine.evict();
const leaseOf = ({ apiserver }: Machine): Lease => apiserver.lease!;
const isGone = ({ apiserver }: Machine) => {
  apiserver.lease = undefined;
};
const isNodeGone = ({ apiserver }: Machine) => {
  apiserver.node = undefined;
};
/** Replaces the Node by another Node of this name and deployment, with its own lease. */
function ofAnotherNode(machine: Machine): void {
  const { node, lease } = machine.apiserver;
  machine.apiserver.node = { ...node, metadata: { ...node?.metadata, uid: "other" } };
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: NAME, uid: "other" }];
  machine.apiserver.lease = {
    ...lease,
    metadata: { ...lease?.metadata, ownerReferences, resourceVersion: "99" },
  };
}
/** Returns a function that makes another writer renew the lease. */
function renewedBy(manager: string, agoMs: number) {
  return (machine: Machine) => {
    const renewTime = new Date(machine.nowMs - agoMs).toISOString().replace("Z", "000Z");
    const managedFields = [{ manager, fieldsV1: { "f:spec": { "f:renewTime": {} } } }];
    const { metadata, spec } = leaseOf(machine);
    machine.apiserver.lease = {
      ...leaseOf(machine),
      metadata: { ...metadata, managedFields, resourceVersion: "99" },
      spec: { ...spec, renewTime },
    };
  };
}
const answering = (asked: string, response: () => Response) => (machine: Machine) =>
  void (machine.inBetween = (each) => (each === asked ? response() : undefined));
const failing = (asked: string) => answering(asked, () => statusResponse(500, "InternalError"));
const all =
  (...steps: ((machine: Machine) => void)[]) =>
  (machine: Machine) =>
    steps.forEach((step) => step(machine));

describe("a lease", () => {
  type Renewed = "renewed" | "not renewed" | "node deleted" | "name taken";
  test.each<[situation: string, before: (machine: Machine) => void, asked: string[], outcome: Renewed]>([
    ["that is known → one PUT", () => undefined, ["PUT lease"], "renewed"],
    ["of an object that was evicted → read first", cold, ["GET lease", "PUT lease"], "renewed"],
    ["that somebody deleted → made again", isGone, [...TWICE, ...CREATE], "renewed"],
    ["that somebody deleted, the object evicted → made again", all(cold, isGone), CREATE, "renewed"],
    [
      "that another writer has changed → read, and written over that",
      renewedBy(OURS, 5000),
      ["PUT lease", "GET lease", "PUT lease"],
      "renewed",
    ],
    ["that a kubelet renews → name taken", renewedBy("kubelet", 0), ["PUT lease", "GET lease"], "name taken"],
    [
      "that a kubelet renews, the object evicted → name taken",
      all(cold, renewedBy("kubelet", 0)),
      ["GET lease"],
      "name taken",
    ],
    [
      "that a kubelet has renewed a moment less than its duration ago → name taken",
      all(cold, renewedBy("kubelet", LEASE_MS - 1)),
      ["GET lease"],
      "name taken",
    ],
    [
      "that a kubelet has renewed ahead of this clock → name taken",
      all(cold, renewedBy("kubelet", -90 * MS)),
      ["GET lease"],
      "name taken",
    ],
    [
      "that another deployment renews → name taken",
      all(cold, renewedBy("rollcall.other", 0)),
      ["GET lease"],
      "name taken",
    ],
    [
      "that a kubelet has not renewed for its duration → ours again",
      all(cold, renewedBy("kubelet", LEASE_MS)),
      ["GET lease", "PUT lease"],
      "renewed",
    ],
    [
      "of another Node of this name → left alone",
      ofAnotherNode,
      ["PUT lease", "GET lease", "GET Node", "GET lease"],
      "node deleted",
    ],
    [
      "of another Node of this name, the object evicted → left alone",
      all(cold, ofAnotherNode),
      ["GET lease", "GET Node"],
      "node deleted",
    ],
    [
      "that is gone with its Node → node deleted",
      all(isGone, isNodeGone),
      [...TWICE, "GET lease", "GET Node"],
      "node deleted",
    ],
    [
      "whose namespace is missing → not renewed, and nothing follows about the Node",
      all(
        isGone,
        answering("POST lease", () =>
          statusResponse(404, "NotFound", { details: { name: "kube-node-lease", kind: "namespaces" } }),
        ),
      ),
      [...TWICE, ...CREATE],
      "not renewed",
    ],
    [
      "whose Node cannot be read → not made",
      all(isGone, failing("GET Node")),
      [...TWICE, "GET lease", "GET Node"],
      "not renewed",
    ],
    [
      "that is refused → tried twice, read, and tried twice again",
      failing("PUT lease"),
      [...TWICE, "GET lease", ...TWICE],
      "not renewed",
    ],
    ["that cannot be read → not written", all(cold, failing("GET lease")), ["GET lease"], "not renewed"],
    [
      "for which the machine has no requests left → not asked",
      (machine) =>
        machine.limitRequests(
          10,
          Array.from({ length: 4 }, () => "lease"),
        ),
      [],
      "not renewed",
    ],
    [
      "for which it has one left, the object evicted → not asked: that would be half of it",
      all(cold, (machine) =>
        machine.limitRequests(
          10,
          Array.from({ length: 3 }, () => "lease"),
        ),
      ),
      [],
      "not renewed",
    ],
  ])("%s", async (_, before, asked, outcome) => {
    const machine = new SteppingMachine(steady);
    before(machine);
    const stored = JSON.stringify(machine.apiserver.lease);
    const context = machine.context();
    const { renewed } = await renewLease(context, DEADLINE_MS);
    expect([machine.take(), context.lost?.phase ?? (renewed ? "renewed" : "not renewed")]).toEqual([
      asked,
      outcome,
    ]);
    if (outcome !== "renewed") expect(JSON.stringify(machine.apiserver.lease)).toBe(stored);
    else expect(renewedAtOf(leaseOf(machine))).toBe(machine.nowMs);
  });
});

describe("what a renewal proves", () => {
  /** Returns whether the known Node is marked to be read, and whether its lease is recorded as expired. */
  const marks = ({ records }: Machine) => {
    const { readAgain, hasLapsed = false } = records.get("node")!;
    return [readAgain, hasLapsed];
  };
  const after = (ms: number) => (machine: Machine) => void (machine.nowMs += ms - 10_000);
  const awayFor = (ms: number) => (machine: Machine) =>
    machine.records.put("phase", { phase: "apiserver unreachable", sinceMs: machine.nowMs - ms });
  const unanswered = (seconds: number) => (machine: Machine) => void (machine.noAnswerSeconds = seconds);
  const neverWritten = (machine: Machine) => {
    machine.memory.status = { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 };
  };
  const coldAndGone = all(cold, isGone);

  test.each<
    [situation: string, before: (machine: Machine) => void, isFresh: boolean, marked: [boolean, boolean]]
  >([
    ["the last one as old as the lease lasts", after(LEASE_MS), true, [false, false]],
    ["older", after(LEASE_MS + 1), false, [true, true]],
    ["older, its object evicted", all(cold, after(LEASE_MS + 1)), false, [true, true]],
    ["as old as that, its object evicted", all(cold, after(LEASE_MS)), true, [false, false]],
    [
      "older, and the status was never written: it is read anyway",
      all(neverWritten, after(LEASE_MS + 1)),
      false,
      [false, false],
    ],
    ["ahead of the clock by what clocks differ", after(-2 * MS), true, [false, false]],
    ["further ahead", after(-2 * MS - 1), false, [true, true]],
    ["unknown when: the lease is gone", coldAndGone, false, [true, false]],
    ["unknown when, unanswered as long as it lasts", all(coldAndGone, unanswered(40)), false, [true, false]],
    ["unknown when, unanswered for longer", all(coldAndGone, unanswered(41)), false, [true, true]],
    [
      "unknown when, the apiserver away as long as it lasts",
      all(coldAndGone, awayFor(LEASE_MS)),
      false,
      [true, false],
    ],
    [
      "unknown when, the apiserver away for longer",
      all(coldAndGone, awayFor(LEASE_MS + 1)),
      false,
      [true, true],
    ],
    ["unknown when: the lease could not be read", all(cold, failing("GET lease")), false, [false, false]],
  ])("%s", async (_, before, isFresh, marked) => {
    const machine = new SteppingMachine(steady);
    before(machine);
    const { wasFresh, lastContactMs } = await renewLease(machine.context(), DEADLINE_MS);
    expect([wasFresh, marks(machine)]).toEqual([isFresh, marked]);
    const lastMs = isFresh ? steady.memory.renewedAtMs : machine.nowMs;
    expect(lastContactMs).toBe(lastMs);
  });

  it("of a Node that this tick created: its lease is created at once, and the Node needs no read", async () => {
    const machine = new SteppingMachine();
    const context = machine.context();
    await register(context, DEADLINE_MS);
    machine.take();
    expect(await renewLease(context, DEADLINE_MS)).toMatchObject({ renewed: true, wasFresh: true });
    expect(machine.take()).toEqual(["POST lease"]);
  });

  it("of a Node that this tick created, with the lease of its predecessor → taken over", async () => {
    const machine = new SteppingMachine();
    machine.apiserver.lease = structuredClone(steady.apiserver.lease);
    const owner = { apiVersion: "v1", kind: "Node", name: NAME, uid: "gone" };
    machine.apiserver.lease!.metadata!.ownerReferences = [owner];
    const context = machine.context();
    await register(context, DEADLINE_MS);
    machine.take();
    expect(await renewLease(context, DEADLINE_MS)).toMatchObject({ renewed: true });
    expect(leaseOf(machine).metadata?.ownerReferences).toMatchObject([
      { uid: machine.apiserver.node?.metadata?.uid },
    ]);
  });

  test.each<[situation: string, renewedAgoMs: number | undefined, isFresh: boolean]>([
    ["as old as the lease lasts", LEASE_MS, true],
    ["older", LEASE_MS + 1, false],
    ["unknown", undefined, false],
  ])("between reports, the last one %s", (_, agoMs, isFresh) => {
    const machine = new SteppingMachine(steady);
    delete machine.memory.renewedAtMs;
    if (agoMs !== undefined) machine.memory.renewedAtMs = machine.nowMs - agoMs;
    const lastContactMs = isFresh ? machine.nowMs - agoMs! : machine.nowMs;
    expect(lastContact(machine.memory.renewedAtMs, LEASE_MS / 1000, machine.nowMs)).toEqual({
      wasFresh: isFresh,
      lastContactMs,
    });
  });
});

describe("an apiserver that fails", () => {
  it("→ four attempts at once, then none for more than half of an interval; the last error is reported", async () => {
    const machine = new SteppingMachine(steady);
    failing("PUT lease")(machine);
    const tries: number[] = [];
    for (let report = 0; report < 6; report++) {
      const { error } = await renewLease(machine.context(), DEADLINE_MS);
      expect(error).toMatchObject({ status: { code: 500 } });
      tries.push(machine.take().length);
    }
    // The first renewal tries a PUT twice, and later ones once. After the fourth failure the renewals wait.
    expect(tries.map((requests) => requests > 0)).toEqual([true, true, true, true, false, false]);
    machine.inBetween = undefined;
    machine.nowMs += 7000 - 1;
    expect((await renewLease(machine.context(), DEADLINE_MS)).renewed).toBe(false);
    machine.nowMs += 1;
    expect((await renewLease(machine.context(), DEADLINE_MS)).renewed).toBe(true);
    expect(machine.memory.leaseBackOff).toBeUndefined();
  });

  it("and the PUT after a conflict fails → the next renewal is one PUT of the lease that was read", async () => {
    const machine = new SteppingMachine(steady);
    const { lease } = machine.apiserver;
    machine.apiserver.lease = { ...lease, metadata: { ...lease?.metadata, resourceVersion: "99" } };
    let puts = 0;
    // The machine has used up its requests after the read of the lease.
    machine.inBetween = (asked) =>
      asked.endsWith("lease") && (asked.startsWith("PUT") ? ++puts > 1 : puts > 1)
        ? statusResponse(503, "ServiceUnavailable")
        : undefined;
    expect((await renewLease(machine.context(), DEADLINE_MS)).renewed).toBe(false);
    machine.inBetween = undefined;
    machine.take();
    machine.nowMs += 10_000;
    expect((await renewLease(machine.context(), DEADLINE_MS)).renewed).toBe(true);
    expect(machine.take()).toEqual(["PUT lease"]);
  });

  it("and the lease vanishes in a conflict, without a read of the Node → no PUT without a version", async () => {
    const machine = new SteppingMachine(steady);
    let puts = 0;
    machine.inBetween = (asked) => {
      if (asked === "PUT lease" && ++puts === 1) return statusResponse(409, "Conflict");
      if (asked === "GET lease") return statusResponse(404, "NotFound");
      return asked === "GET Node" ? statusResponse(500, "InternalError") : undefined;
    };
    await renewLease(machine.context(), DEADLINE_MS);
    expect(puts).toBe(1);
  });
});

it("a clock that goes back → the next renewTime is still later than the last one", async () => {
  const machine = new SteppingMachine(steady);
  const before = leaseOf(machine).spec!.renewTime!;
  machine.nowMs -= 86_400_000;
  await renewLease(machine.context(), DEADLINE_MS);
  expect(leaseOf(machine).spec!.renewTime! > before).toBe(true);
});

describe("what an eviction would lose is stored with the lease", () => {
  const REPORT = "rollcall.dev/status-report";
  const BUDGET = "rollcall.dev/status-budget";
  const annotated = (annotations: Record<string, string>) => (machine: Machine) => {
    const { metadata } = leaseOf(machine);
    machine.apiserver.lease = { ...leaseOf(machine), metadata: { ...metadata, annotations } };
  };
  test.each<[situation: string, text: string | undefined, status: TickMemory["status"]]>([
    [
      "when the status was written",
      "1000 -500",
      { lastStatusReportTimeMs: 1000, delayAfterNodeStatusChangeMs: -500 },
    ],
    ["nothing", undefined, undefined],
    ["one number", "1000", undefined],
    ["three numbers", "1000 1 2", undefined],
    ["no number", "1000 x", undefined],
    ["a number without end", "1000 Infinity", undefined],
  ])("%s → so it is known", async (_, text, status) => {
    const machine = new SteppingMachine(steady);
    machine.evict();
    annotated(text === undefined ? {} : { [REPORT]: text })(machine);
    await renewLease(machine.context(), DEADLINE_MS);
    expect(machine.memory.status).toEqual(status);
    // The renewal leaves an unreadable annotation as it is, until the status is written.
    expect(leaseOf(machine).metadata?.annotations?.[REPORT]).toBe(text);
  });

  test.each<[situation: string, before: (machine: Machine) => void, bytes: number]>([
    ["what is left", annotated({ [BUDGET]: "5 1 1770091506000" }), 5],
    ["no word of it: all is left", annotated({}), STATUS_BUDGET.bytesAtOnce],
    ["words that are none: nothing is left", annotated({ [BUDGET]: "x" }), 0],
    ["no lease: all is left", isGone, STATUS_BUDGET.bytesAtOnce],
    ["a lease that cannot be read: nothing is left", failing("GET lease"), 0],
    [
      "a lease that may not be asked for: nothing is left",
      (machine) =>
        machine.limitRequests(
          10,
          Array.from({ length: 4 }, () => "lease"),
        ),
      0,
    ],
  ])("%s", async (_, before, bytes) => {
    const machine = new SteppingMachine(steady);
    machine.nowMs = Date.parse("2026-02-03T04:05:06Z");
    machine.evict();
    before(machine);
    await renewLease(machine.context(), DEADLINE_MS);
    expect(machine.memory.budget?.bytes ?? STATUS_BUDGET.bytesAtOnce).toBe(bytes);
  });

  test.each<[situation: string, memory: TickMemory, annotations: Record<string, string | undefined>]>([
    [
      "a status that was written, and a budget",
      {
        status: { lastStatusReportTimeMs: 7, delayAfterNodeStatusChangeMs: 8 },
        budget: { bytes: 1.5, urgent: 0, atMs: 1_770_091_526_000 },
      },
      { [REPORT]: "7 8", [BUDGET]: "1 0 1770091526000" },
    ],
    [
      "a status that was never written",
      { status: { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 } },
      { [REPORT]: undefined, [BUDGET]: undefined },
    ],
    [
      "a budget that is full again",
      { budget: { bytes: STATUS_BUDGET.bytesAtOnce, urgent: STATUS_BUDGET.urgentAtOnce, atMs: 0 } },
      { [BUDGET]: undefined },
    ],
  ])("%s → in its annotations", async (_, memory, annotations) => {
    const machine = new SteppingMachine(steady);
    Object.assign(machine.memory, memory);
    await renewLease(machine.context(), DEADLINE_MS);
    const written = leaseOf(machine).metadata?.annotations ?? {};
    for (const [key, text] of Object.entries(annotations)) expect(written[key]).toBe(text);
    expect(written["rollcall.dev/owner"]).toBe(env.DEPLOYMENT);
  });

  it("the budget of a lease as it was written; without one → full", () => {
    const lease = { metadata: { annotations: { [BUDGET]: "5 1 9" } } };
    expect(budgetInLease(lease, 10)).toEqual({ bytes: 5, urgent: 1, atMs: 9 });
    expect([budgetInLease(null, 10), budgetInLease(undefined, 10), budgetInLease({}, 10)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(budgetInLease({ metadata: { annotations: { [BUDGET]: "" } } }, 10)).toEqual(emptyBudget(10));
  });
});

describe("a lent lease", () => {
  test.each<[situation: string, change: (lease: Lease) => Lease | null, isLent: boolean]>([
    ["as it was written last", (lease) => lease, true],
    ["none", () => null, false],
    [
      "without a version",
      ({ metadata, ...lease }) => ({ ...lease, metadata: { ...metadata, resourceVersion: "" } }),
      false,
    ],
    [
      "of another Node",
      ({ metadata, ...lease }) => ({ ...lease, metadata: { ...metadata, ownerReferences: [] } }),
      false,
    ],
  ])("%s", (_, change, isLent) => {
    const machine = new SteppingMachine(steady);
    machine.memory.lease = change(machine.memory.lease!);
    machine.facts.settings.nodeLeaseDurationSeconds = 50;
    const lent = lentLease(machine.context());
    if (!isLent) return expect(lent).toBeNull();
    const { metadata, spec } = machine.memory.lease!;
    expect(lent).toMatchObject({
      metadata: { name: NAME, resourceVersion: metadata?.resourceVersion },
      spec: { renewTime: spec?.renewTime, leaseDurationSeconds: 50 },
    });
    expect(lent?.metadata?.annotations).toHaveProperty("rollcall.dev/status-report");
    expect(lent?.metadata?.labels).not.toHaveProperty(UNWATCHED_LABEL);
  });
});

describe("the label of a renewed lease, for the cluster object's list", () => {
  const lent = { gateway: 1, epochsTo: 1 };
  test.each<[situation: string, records: (nowMs: number) => Partial<NodeRecords>, isListed: boolean]>([
    ["no gateway and no alarm watches the machine → labelled", () => ({}), true],
    ["a gateway has the lease → not", () => ({ lent }), false],
    [
      "the alarm watches for more than a lease duration → not",
      (nowMs) => ({ opening: { untilMs: nowMs + LEASE_MS + 1 } }),
      false,
    ],
    [
      "the alarm watches for a lease duration, in which the next renewal may fail → labelled",
      (nowMs) => ({ opening: { untilMs: nowMs + LEASE_MS } }),
      true,
    ],
  ])("%s", async (_, records, isListed) => {
    const machine = new SteppingMachine(steady);
    for (const [key, value] of Object.entries(records(machine.nowMs)))
      machine.records.put(key as keyof NodeRecords, value);
    await renewLease(machine.context(), DEADLINE_MS);
    expect(leaseOf(machine).metadata?.labels ?? {}).toEqual(
      isListed ? { [UNWATCHED_LABEL]: env.DEPLOYMENT } : {},
    );
  });
});

test.each<[lease: Lease | null, atMs: number | undefined]>([
  [{ spec: { renewTime: "2026-02-03T04:05:06.000000Z" } }, 1_770_091_506_000],
  [{ spec: {} }, undefined],
  [null, undefined],
])("%j was renewed at %s", (lease, atMs) => {
  expect(renewedAtOf(lease)).toBe(atMs);
});
