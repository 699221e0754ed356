// Tests many machines whose Worker has too little capacity: the capacity still serves machines that wait for the answer,
// and the machines recover by themselves.
import { afterEach, describe, expect, it, test } from "vitest";
import { Crowd, type CrowdWish } from "./crowd.ts";

const MINUTE = 60_000;
const LEASE_MS = 40_000;
const MACHINES = 100;
/** Milliseconds of a heartbeat's work, so that the heartbeats of all machines need 30 % of the Worker's capacity. */
const WORK_MS = (0.3 * 9600) / MACHINES;
const ON_SOCKETS: CrowdWish = {
  machines: MACHINES,
  workMs: WORK_MS,
  startWithinMs: MINUTE,
  choice: "auto",
};
/** A report by HTTP is four times the work of a heartbeat. */
const BY_HTTP: CrowdWish = { ...ON_SOCKETS, workMs: WORK_MS / 4, choice: "http" };

let crowd: Crowd | undefined;
afterEach(() => crowd?.stop());

async function steady(wish: CrowdWish): Promise<Crowd> {
  crowd = await Crowd.start(wish);
  await crowd.pass(3 * MINUTE);
  crowd.longestGapMs();
  return crowd;
}

test("a steady fleet: 30 % of the capacity, each lease renewed in time", async () => {
  const fleet = await steady(ON_SOCKETS);
  expect(await fleet.pass(5 * MINUTE)).toBeCloseTo(0.3, 1);
  expect(fleet.onSocket).toBe(MACHINES);
  expect(fleet.longestGapMs()).toBeLessThan(12_000);
});

describe("the Worker is slowed to a tenth for two minutes, so that the load is three times its capacity", () => {
  it("on sockets → goodput of 80 % all the time, no lease expires, and no socket is given up", async () => {
    const fleet = await steady(ON_SOCKETS);
    for (let turn = 0; turn < 6; turn++) expect(await fleet.pass(MINUTE / 3, 0.1)).toBeGreaterThan(0.8);
    expect(fleet.onSocket).toBe(MACHINES);
    await fleet.pass(MINUTE / 2);
    expect(fleet.longestGapMs()).toBeLessThan(LEASE_MS);
    await fleet.pass(MINUTE);
    expect(fleet.longestGapMs()).toBeLessThan(12_000);
  });

  it("by HTTP → goodput of 80 % all the time, and all leases are renewed again within half a minute", async () => {
    const fleet = await steady(BY_HTTP);
    for (let turn = 0; turn < 6; turn++) expect(await fleet.pass(MINUTE / 3, 0.1)).toBeGreaterThan(0.8);
    await fleet.pass(MINUTE / 2);
    expect(fleet.longestGapMs()).toBeLessThan(2.5 * MINUTE);
    await fleet.pass(MINUTE);
    expect(fleet.longestGapMs()).toBeLessThan(12_000);
  });
});

test("a load of fifteen times the capacity for two minutes → all machines are back within two minutes", async () => {
  const fleet = await steady(ON_SOCKETS);
  await fleet.pass(2 * MINUTE, 0.02);
  await fleet.pass(2 * MINUTE);
  fleet.longestGapMs();
  expect(await fleet.pass(MINUTE)).toBeCloseTo(0.3, 1);
  expect(fleet.onSocket).toBe(MACHINES);
  expect(fleet.longestGapMs()).toBeLessThan(12_000);
});

test("all machines start at once → all are on sockets within three minutes, and no lease expires", async () => {
  crowd = await Crowd.start({ ...ON_SOCKETS, startWithinMs: 1000 });
  await crowd.pass(3 * MINUTE);
  expect(crowd.onSocket).toBe(MACHINES);
  expect(crowd.longestGapMs()).toBeLessThan(LEASE_MS);
  await crowd.pass(MINUTE);
  expect(crowd.longestGapMs()).toBeLessThan(12_000);
});
