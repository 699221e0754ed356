// Tests changes of the Worker's clock while a lease is lent. No renewTime goes back, and a loan ends if the clock
// cannot measure its age.
import { afterEach, describe, expect, it, vi } from "vitest";
import { writesAbout } from "../../worker/support/machine.ts";
import { expectNoTimeMovedBack } from "../invariants.ts";
import { lentMachine, live, type MachineOnSocket, passRinging, stoppedClock, stubsOf } from "./members.ts";
import { BEAT_MS, evictGateway, evictNode, gatewayOf, LEASE_MS, objectOf } from "./on-socket.ts";

const HOUR_MS = 3_600_000;

afterEach(() => void vi.restoreAllMocks());

async function expectSound(machine: MachineOnSocket): Promise<void> {
  expectNoTimeMovedBack(await writesAbout(machine.name));
  expect(await machine.shown()).toMatchObject({ phase: "registered", isReady: true, silentSince: null });
}

/** Returns the last renewTime of the machine's lease, and the number of the lease's writes. */
async function renewed(machine: MachineOnSocket): Promise<{ count: number; lastMs: number }> {
  const renewals = await machine.renewals();
  return { count: renewals.length, lastMs: renewals.at(-1) ?? 0 };
}

describe.each([
  ["put back by a second", -1000],
  ["put back by an hour", -HOUR_MS],
  ["put forward by half of a lease duration", LEASE_MS / 2],
  ["put forward by a lease duration", LEASE_MS + 1000],
  ["put forward by an hour", HOUR_MS],
])("a clock that is %s", (_, byMs) => {
  it("between two heartbeats → the loan ends or stays, and each report or heartbeat renews", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine(`clock-between-${byMs}`, clock);
    await live([machine], clock, 2 * BEAT_MS);
    const before = await renewed(machine);
    clock.shift(byMs);
    clock.shift(BEAT_MS);
    const said = [await machine.say()];
    expect((await renewed(machine)).count).toBe(before.count + 1);
    await live([machine], clock, 6 * BEAT_MS + 1000, (each) => said.push(each));
    // After a new loan, the gateway answers each heartbeat with `answer`.
    expect(said.slice(2)).toEqual(said.slice(2).map(() => "answer"));
    await expectSound(machine);
  });

  // If the clock jumps forward, the evicted gateway counts its machines as silent, and the machines report over
  // HTTP.
  if (byMs > 0) return;
  it("while neither object is in memory → the same result", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine(`clock-evicted-${byMs}`, clock);
    await live([machine], clock, 2 * BEAT_MS);
    await evictGateway(machine.gateway);
    await evictNode(machine.name);
    clock.shift(byMs);
    const before = await renewed(machine);
    const said: string[] = [];
    await live([machine], clock, 6 * BEAT_MS + 1000, (each) => said.push(each));
    expect((await renewed(machine)).count).toBe(before.count + said.length);
    expect(said.slice(2)).toEqual(said.slice(2).map(() => "answer"));
    await expectSound(machine);
  });
});

it("a heartbeat after the clock went back since the loan → again, without a renewal", async () => {
  const clock = stoppedClock();
  const machine = await lentMachine("clock-order", clock);
  clock.shift(-1);
  expect(await machine.beat({ at: Date.now() })).toEqual({ type: "again", reason: "over" });
  expect(await machine.asked()).toEqual([]);
  clock.shift(BEAT_MS);
  // A loan that has expired stays expired, although the clock goes back.
  expect(await machine.beat({ n: 2 })).toEqual({ type: "again", reason: "over" });
  expect(await machine.asked()).toEqual([]);
});

it.each([
  ["awake", false],
  ["evicted", true],
])(
  "an object whose clock was behind its loan as it withdrew that, %s → it renews nothing",
  async (state, isEvicted) => {
    const clock = stoppedClock();
    const machine = await lentMachine(`clock-recall-${state}`, clock);
    if (isEvicted) await evictNode(machine.name);
    clock.shift(-HOUR_MS);
    // The node object is notified that another writer has changed the machine's Node.
    await objectOf(machine.name).noticeNode(null);
    clock.shift(HOUR_MS + BEAT_MS);
    const before = await renewed(machine);
    expect(await machine.beat()).toEqual({ type: "again", reason: "over" });
    expect(await renewed(machine)).toEqual(before);
    expect(await machine.say()).toBe("registered");
    await live([machine], clock, 3 * BEAT_MS, (said) => expect(said).toBe("answer"));
  },
);

it("a clock that was ahead and is right again → a machine that turns silent is found in time, once the cron trigger has run", async () => {
  const clock = stoppedClock();
  clock.shift(HOUR_MS);
  const machine = await lentMachine("clock-ahead", clock);
  await live([machine], clock, 2 * BEAT_MS);
  clock.shift(BEAT_MS - HOUR_MS);
  expect(await machine.say()).toBe("registered");
  const heardMs = Date.now();
  await gatewayOf(machine.gateway).care();
  await passRinging(clock, 45_000, stubsOf([machine]));
  expect(Date.parse((await machine.shown()).silentSince ?? "")).toBe(heardMs);
});
