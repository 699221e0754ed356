// Tests reports that are lost, repeated, sent at the same time, or sent during a slow tick or an alarm. Also tests a
// long outage of the apiserver.
import { afterEach, describe, expect, it, vi } from "vitest";
import { CONTACT_EVERY_MS } from "../../worker/machine/silence.ts";
import { shift } from "../worker/support/clock.ts";
import { operator, transport, writesAbout } from "../worker/support/machine.ts";
import { expectNoTimeMovedBack } from "./invariants.ts";
import { conditionOf, DOWN, eventsAbout, expectSound, putClock, REGISTERED, steady, UP } from "./watched.ts";

const LEASE = "^PUT /apis/coordination";
const HOUR_MS = 3_600_000;
const LEASE_MS = 40_000;

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a report", () => {
  it("whose answer is lost → applied once; the next one changes back", async () => {
    const machine = await steady("lost-answer");
    machine.deliver = async (request) => {
      await transport(request);
      throw new Error("connection reset");
    };
    expect(await machine.report(DOWN)).toMatchObject({ ok: false, error: { reason: "failed" } });
    machine.deliver = transport;
    await machine.report(UP);
    await expectSound(machine);
  });

  it("that arrives twice → one renewal, and the same answer", async () => {
    const machine = await steady("arrives-twice");
    const answers: unknown[] = [];
    machine.deliver = async (request) => {
      const both = await Promise.all([transport(request), transport(request)]);
      answers.push(...both);
      return both[0];
    };
    const before = await machine.leaseWrites();
    await machine.report(DOWN);
    machine.deliver = transport;
    expect(answers[0]).toEqual(answers[1]);
    expect((await machine.leaseWrites()) - before).toBe(1);
    await expectSound(machine);
  });

  it("that is recorded and replayed later → renews nothing, changes nothing", async () => {
    const machine = await steady("replayed");
    const recorded: Parameters<typeof transport>[0][] = [];
    machine.deliver = (request) => {
      recorded.push(request);
      return transport(request);
    };
    await machine.report(DOWN);
    await machine.report(UP);
    const before = await machine.leaseWrites();
    for (const cold of [false, true]) {
      if (cold) await machine.evict();
      for (const request of recorded.slice(0, -1)) expect((await transport(request)).status).toBe(409);
    }
    expect(await machine.leaseWrites()).toBe(before);
    await expectSound(machine);
  });

  it.each([
    ["the renewal", LEASE],
    ["the patch", "^PATCH /api/v1/nodes"],
  ])("that flips back while %s of the one before hangs → the newer one wins", async (what, of) => {
    const machine = await steady(`flip-during-${what.slice(4)}`);
    await machine.wrong({ kind: "hangs after its effect", of, times: 1 });
    const slow = machine.report(DOWN);
    await machine.asked(new RegExp(of, "m"));
    const newer = machine.report(UP);
    await machine.well();
    await Promise.all([slow, newer]);
    expect(conditionOf(await machine.node(), "Ready")?.status).toBe("True");
    await expectSound(machine);
  });

  it("at the same time as another one → both are answered, and the last one's state counts", async () => {
    const machine = await steady("two-at-once");
    const outcomes = await Promise.all([machine.report(DOWN), machine.report(DOWN)]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
    await expectSound(machine);
  });

  it("during an alarm → no event twice", async () => {
    const machine = await steady("with-an-alarm");
    await machine.wrong({ kind: "hangs after its effect", of: "/events", times: 1 });
    const report = machine.report(DOWN);
    await machine.asked(/events/);
    const alarm = machine.ring();
    await machine.well();
    await Promise.all([report, alarm]);
    await expectSound(machine);
  });
});

describe("a machine that stops while the apiserver refuses requests", () => {
  it("and its object is evicted → silent since its last report, and not since its last renewal", async () => {
    const machine = await steady("stops-in-outage");
    await machine.wrong({ kind: "status", code: 429 });
    for (let reports = 0; reports < 12; reports++) {
      shift(10_000);
      await machine.report();
    }
    const stoppedMs = Date.now();
    await machine.evict();
    await machine.well();
    for (let leases = 0; leases < 3; leases++) {
      shift(LEASE_MS + 1);
      await machine.ring();
    }
    const { body } = await operator<{ silentSince: string }>("GET", `/v1/nodes/${machine.name}`);
    expect(stoppedMs - Date.parse(body.silentSince)).toBeLessThanOrEqual(CONTACT_EVERY_MS);
  });
});

describe("a restarted shim", () => {
  it.each([
    ["warm", false],
    ["cold", true],
  ])("%s → its first report writes the status, though nothing changed", async (heat, isCold) => {
    const machine = await steady(`restarted-${heat}`);
    if (isCold) await machine.evict();
    machine.restart();
    const before = (await writesAbout(machine.name)).length;
    await machine.report();
    const requests = (await writesAbout(machine.name)).slice(before).map(({ request }) => request);
    expect(requests).toContain(`PATCH /api/v1/nodes/${machine.name}/status`);
    await expectSound(machine);
  });
});

describe("an object that wakes with a clock that is set back", () => {
  it.each([
    ["older by an hour", -HOUR_MS],
    ["older by 3 s", -3000],
    ["newer by 3 s", 3000],
    ["newer by an hour", HOUR_MS],
  ])("%s → the next write steps forward, and the clock may be put right again", async (what, shiftMs) => {
    const clock = putClock();
    const machine = await steady(`clock-${what.replaceAll(" ", "-")}`);
    await machine.evict();
    clock.shift(shiftMs);
    expect(await machine.report(DOWN)).toMatchObject(REGISTERED);
    await machine.evict();
    clock.shift(-shiftMs);
    expect(await machine.report(UP)).toMatchObject(REGISTERED);
    await expectSound(machine);
  });
});

describe("an apiserver with writes that take effect without an answer", () => {
  it("a change, its reversal, and the change again before the answer → the last transition is written", async () => {
    const clock = putClock();
    const machine = await steady("flips-unanswered");
    await machine.wrong({ kind: "answer lost" });
    for (const vitals of [DOWN, UP, UP]) {
      clock.shift(10_000);
      await machine.report(vitals);
    }
    clock.shift(10_000);
    await expectSound(machine);
  });
});

describe("an apiserver that is unreachable", () => {
  it("while the machine turns silent → it does not appear Ready afterwards, and no alarm renews or writes", async () => {
    const clock = putClock();
    const machine = await steady("dies-in-an-outage");
    await machine.wrong({ kind: "html" });
    await machine.report(DOWN);
    await machine.report(UP);
    const before = [await machine.node(), await machine.lease()];
    await machine.evict();
    await machine.well();
    for (let minutes = 0; minutes < 20; minutes++) {
      clock.shift(60_000);
      await machine.ring();
    }
    expect([await machine.node(), await machine.lease()]).toEqual(before);
    expectNoTimeMovedBack(await writesAbout(machine.name));
    expect(await eventsAbout(machine.name)).toMatchObject({ NodeNotReady: 1, NodeReady: 2 });
  });

  it("for an hour with ten changes of Ready → history has all, the cluster the last state and every event once", async () => {
    const clock = putClock();
    const machine = await steady("away-for-an-hour");
    await machine.wrong({ kind: "html" });
    for (let flip = 0; flip < 10; flip++) {
      for (let report = 0; report < 3; report++) {
        clock.shift(120_000);
        await machine.report(flip % 2 === 0 ? DOWN : UP);
      }
      if (flip % 3 === 2) await machine.evict();
    }
    await expectSound(machine);
  });
});
