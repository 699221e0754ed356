// Tests a Node that is deleted, tick by tick: the Worker registers it again if its machine was not Ready, and never
// in a loop.
import { afterEach, beforeAll, beforeEach, describe, expect, it, test, vi } from "vitest";
import { noteLapse } from "../../../worker/tick/own-node.ts";
import { registerAgain } from "../../../worker/tick/registration.ts";
import { HEALTHY } from "../support/facts.ts";
import { type Kept, SteppingMachine } from "../support/stepping-machine.ts";

const REGISTERED = { phase: "registered", ready: true };
const DELETED = { phase: "node deleted", ready: false };
const NOT_READY = { ...HEALTHY, errors: { network: ["no network"] } };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Machine = SteppingMachine;

const quiet = () => void vi.spyOn(console, "log").mockReturnValue();
beforeEach(quiet);
afterEach(() => void vi.restoreAllMocks());

/** A Ready machine whose Node was created two hours ago, and whose last report was 10 s ago. */
let well: Kept;
let unwell: Kept;
beforeAll(async () => {
  quiet();
  const steady = async (vitals: typeof HEALTHY) => {
    const machine = new SteppingMachine();
    await machine.report(vitals);
    machine.nowMs += 2 * HOUR_MS;
    expect(await machine.report(vitals)).toMatchObject({ phase: "registered", ready: vitals === HEALTHY });
    machine.nowMs += 10_000;
    return machine.keep();
  };
  well = await steady(HEALTHY);
  unwell = await steady(NOT_READY);
});

/** Deletes the Node with its lease, as the garbage collector does. */
const deleteNode = ({ apiserver }: Machine) =>
  Object.assign(apiserver, { node: undefined, lease: undefined });

describe("a Node that is deleted", () => {
  /** Functions that act between the deletion and the next report. `warm` lets `ms` pass; `cold` evicts the object. */
  const warm = (ms: number) => (machine: Machine) => void (machine.nowMs += ms);
  const cold = (machine: Machine) => machine.evict();
  const coldAndSilent = (machine: Machine) => {
    machine.evict();
    noteLapse(machine.records);
  };
  const coldAfter = (noAnswerSeconds: number) => (machine: Machine) => {
    machine.evict();
    machine.noAnswerSeconds = noAnswerSeconds;
  };
  const coldAfterAway = (ms: number) => (machine: Machine) => {
    machine.evict();
    machine.records.put("phase", { phase: "apiserver unreachable", sinceMs: machine.nowMs - ms });
  };
  const nothing = () => undefined;

  test.each<
    [
      situation: string,
      policy: Machine["registerAgain"],
      last: () => Kept,
      then: (machine: Machine) => void,
      comesBack: boolean,
    ]
  >([
    ["while it is Ready", "when-silent", () => well, nothing, false],
    ["while it is Ready", "always", () => well, nothing, true],
    ["while it is not Ready", "when-silent", () => unwell, nothing, true],
    ["while it is not Ready", "never", () => unwell, nothing, false],
    ["unheard of as long as its lease", "when-silent", () => well, warm(30_000), false],
    ["unheard of for longer", "when-silent", () => well, warm(30_001), true],
    ["unknown when", "when-silent", () => well, cold, false],
    ["unknown when", "always", () => well, cold, true],
    ["unknown when, the last word was not Ready", "when-silent", () => unwell, cold, true],
    ["unknown when, unanswered as long as its lease", "when-silent", () => well, coldAfter(40), false],
    ["unknown when, unanswered for longer", "when-silent", () => well, coldAfter(41), true],
    [
      "unknown when, cluster away as long as its lease",
      "when-silent",
      () => well,
      coldAfterAway(40_000),
      false,
    ],
    ["unknown when, cluster away for longer", "when-silent", () => well, coldAfterAway(40_001), true],
    ["while its machine was silent", "when-silent", () => well, coldAndSilent, true],
  ])("%s, REGISTER_AGAIN %j", async (_, policy, last, then, comesBack) => {
    const machine = new SteppingMachine(last());
    machine.registerAgain = policy;
    deleteNode(machine);
    then(machine);
    expect(await machine.report()).toMatchObject(DELETED);
    machine.nowMs += MINUTE_MS;
    expect(await machine.report()).toMatchObject(comesBack ? REGISTERED : DELETED);
    expect(machine.apiserver.node !== undefined).toBe(comesBack);
  });

  it("→ a message names the two ways to register again, and the apiserver gets no request", async () => {
    const machine = new SteppingMachine(well);
    deleteNode(machine);
    const message =
      "Its Node was deleted while it was Ready. To have it back, restart the shim on the machine, or have an operator" +
      " run: rollcall node register edge-1";
    for (let report = 0; report < 3; report++) {
      expect(await machine.report()).toEqual({ ...DELETED, message });
      if (report > 0) expect(machine.take()).toEqual([]);
      machine.evict();
      machine.nowMs += HOUR_MS;
    }
  });

  it("→ waits a minute, then for a Ready report; meanwhile no request and no row", async () => {
    const machine = new SteppingMachine(unwell);
    deleteNode(machine);
    const from = new Date(machine.nowMs + MINUTE_MS).toISOString();
    const again =
      "Its Node was deleted. It is registered again with the first report that would make it Ready";
    expect(await machine.report(NOT_READY)).toEqual({ ...DELETED, message: `${again}, from ${from} on` });
    machine.records.writes = 0;
    machine.events.length = 0;
    machine.nowMs += MINUTE_MS - 1;
    expect(await machine.report()).toEqual({ ...DELETED, message: `${again}, from ${from} on` });
    machine.nowMs += 1;
    machine.evict();
    expect(await machine.report(NOT_READY)).toEqual({ ...DELETED, message: again });
    expect([machine.take(), machine.records.writes, machine.events]).toEqual([[], 0, []]);
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(machine.take()[0]).toBe("POST Node");
  });

  it("the apiserver fails at that time → retried like any registration", async () => {
    const machine = new SteppingMachine(unwell);
    deleteNode(machine);
    await machine.report(NOT_READY);
    machine.nowMs += MINUTE_MS;
    machine.inBetween = () => new Response("<html>", { status: 502 });
    expect(await machine.report()).toMatchObject({ phase: "apiserver unreachable" });
    machine.inBetween = undefined;
    machine.nowMs += 1000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it.each([
    [
      "an operator speaks",
      "start-1",
      (machine: Machine) => registerAgain(machine.records, machine.context().journal, machine.nowMs),
    ],
    ["the shim restarts", "start-2", () => true],
  ])("three times soon → not made until %s: then it counts from the beginning", async (_, startId, speak) => {
    const machine = new SteppingMachine(well);
    machine.records.put("registration", { startId: "start-1", phase: "node deleted" });
    machine.records.put("deletion", { atMs: machine.nowMs, wasReady: false, waitMs: HOUR_MS, soon: 3 });
    deleteNode(machine);
    expect(await machine.report()).toMatchObject(DELETED);
    expect(speak(machine)).toBe(true);
    expect(await machine.report(HEALTHY, startId)).toMatchObject(REGISTERED);
    expect(machine.records.get("deletion")).toBeUndefined();
  });

  it("again and again → created after one, two and four minutes, with the next report, then no more", async () => {
    const machine = new SteppingMachine(unwell);
    machine.registerAgain = "always";
    deleteNode(machine);
    const startedMs = machine.nowMs;
    const made: number[] = [];
    for (let report = 0; report < 40; report++) {
      machine.evict();
      await machine.report();
      if (machine.take().includes("POST Node")) {
        made.push((machine.nowMs - startedMs) / MINUTE_MS);
        deleteNode(machine);
      }
      machine.nowMs += 30_000;
    }
    expect(made).toEqual([1, 3.5, 8]);
    machine.nowMs += 24 * HOUR_MS;
    expect(await machine.report()).toMatchObject({
      ...DELETED,
      message: expect.stringContaining("3 times") as string,
    });
    expect(machine.take()).toEqual([]);
  });
});
