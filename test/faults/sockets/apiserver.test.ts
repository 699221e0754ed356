// Tests an apiserver that fails while a gateway renews leases: each heartbeat is answered, no node object is woken,
// one request at a time probes the apiserver, and afterwards each lease is renewed with the next heartbeat.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Fault, Wrong } from "../../worker/support/fault.ts";
import { PUT_WITHIN_MS } from "../../../worker/gateway/lease.ts";
import { setFault, writesAbout } from "../../worker/support/machine.ts";
import { expectNoTimeMovedBack } from "../invariants.ts";
import { lentMachines, type MachineOnSocket, type PutClock, putsOf, stoppedClock } from "./members.ts";
import { BEAT_MS, evictNode, LEASE_MS, slug } from "./on-socket.ts";
import { during, eventually } from "../../worker/support/clock.ts";

const PUT = "^PUT /apis/coordination";
const refused = (code: number, reason: string, more: object = {}): Wrong => ({
  kind: "status",
  code,
  reason,
  ...more,
});

afterEach(() => void vi.restoreAllMocks());

const setFaults = (machines: readonly MachineOnSocket[], fault: Fault | "") =>
  Promise.all(machines.map(({ name }) => setFault(name, fault)));

/** Returns the Worker's requests to the apiserver about these machines, since the last call. */
const askedOf = async (machines: readonly MachineOnSocket[]) =>
  (await Promise.all(machines.map((machine) => machine.asked()))).flat();

/** Evicts the machines' node objects. */
const sendToSleep = (machines: readonly MachineOnSocket[]) =>
  Promise.all(machines.map(({ name }) => evictNode(name)));

/**
 * Expects that no message has woken a machine's node object since its eviction: only a running object can be
 * evicted.
 */
async function expectAsleep(machines: readonly MachineOnSocket[]): Promise<void> {
  for (const { name } of machines)
    await expect(evictNode(name), name).rejects.toThrow(/not currently running/);
}

/** Sends a heartbeat of each machine at the same moment. */
const beatAtOnce = (machines: readonly MachineOnSocket[]) =>
  Promise.all(machines.map((machine) => machine.beat()));

/** Sends the next message of each machine, spread over an interval. Returns the answers. */
async function beatInTurn(machines: readonly MachineOnSocket[], clock: PutClock): Promise<string[]> {
  const said: string[] = [];
  for (const machine of machines) {
    clock.shift(BEAT_MS / machines.length);
    said.push(await machine.say());
  }
  return said;
}

/** The number of writes of a lease before the lease is lent. */
const RENEWED_BEFORE = 3;
const all = (machines: readonly unknown[], what: string) => machines.map(() => what);

/** Returns machines with lent leases, half an interval after their loans, so that no heartbeat is too early. */
async function lentSince<const Names extends readonly string[]>(names: Names, clock: PutClock) {
  const machines = await lentMachines(names, clock);
  clock.shift(BEAT_MS / 2);
  return machines;
}

/** Returns the longest time between two renewals, in milliseconds. */
const longestGap = (renewals: readonly number[]) =>
  Math.max(...renewals.slice(1).map((atMs, at) => atMs - (renewals[at] ?? 0)));

async function expectSound(machines: readonly MachineOnSocket[]): Promise<void> {
  for (const machine of machines) {
    expectNoTimeMovedBack(await writesAbout(machine.name));
    expect(await machine.shown()).toMatchObject({ phase: "registered", isReady: true, silentSince: null });
    expect(await machine.history("silence")).toEqual([]);
  }
}

it("many PUTs fail at once → all are answered, one probe at a time, no object wakes; afterwards all renewed in an interval", async () => {
  const clock = stoppedClock();
  const names = Array.from({ length: 50 }, (_, at) => `at-once-${at}`);
  const machines = await lentMachines(names, clock);
  await sendToSleep(machines);
  await setFaults(machines, refused(500, "InternalError"));
  clock.shift(BEAT_MS);
  for (const frame of await beatAtOnce(machines)) expect(frame).toMatchObject({ type: "answer", n: 1 });
  const atOnce = await askedOf(machines);
  expect(atOnce.filter((line) => !line.startsWith("PUT"))).toEqual([]);
  expect(atOnce.length).toBeLessThanOrEqual(machines.length);
  // While heartbeats arrive all the time, the gateway probes the apiserver after at least one second, then two,
  // then four.
  clock.shift(BEAT_MS / 2);
  expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
  expect((await askedOf(machines)).length).toBe(3);
  await setFaults(machines, "");
  for (let rounds = 0; rounds < 2; rounds++)
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
  await expectAsleep(machines);
  const backMs = await Promise.all(
    machines.map(async (machine) => (await machine.renewals())[RENEWED_BEFORE] ?? Infinity),
  );
  expect(Math.max(...backMs) - Math.min(...backMs)).toBeLessThanOrEqual(BEAT_MS);
  await expectSound(machines.slice(0, 5));
});

describe("PUTs that fail for a while", () => {
  it.each<[situation: string, wrong: Wrong]>([
    ["are answered 500", refused(500, "InternalError")],
    ["are answered 503 by a tunnel", { kind: "effect comes late" }],
    ["are answered 429 without a time", refused(429, "TooManyRequests")],
    ["are answered 401", refused(401, "Unauthorized")],
    ["are answered 403", refused(403, "Forbidden")],
    ["are answered with a tunnel's page, as 200", { kind: "html" }],
    ["are answered with half of an object", { kind: "truncated" }],
  ])("%s → all are answered, and renewed once it is over", async (situation, wrong) => {
    const clock = stoppedClock();
    const names = [1, 2, 3].map((at) => slug("while", situation, String(at)));
    const machines = await lentSince(names, clock);
    await sendToSleep(machines);
    await setFaults(machines, { ...wrong, of: PUT });
    for (let rounds = 0; rounds < 2; rounds++)
      expect(await beatInTurn(machines, clock), situation).toEqual(all(machines, "answer"));
    await expectAsleep(machines);
    await setFaults(machines, "");
    await askedOf(machines);
    // The gateway's next probe is within ten seconds. Within one report interval after the probe, each machine's lease is renewed.
    for (let rounds = 0; rounds < 2; rounds++) await beatInTurn(machines, clock);
    for (const machine of machines) {
      const renewals = await machine.renewals();
      expect(Date.now() - (renewals.at(-1) ?? 0)).toBeLessThan(BEAT_MS);
      expect(longestGap(renewals)).toBeLessThan(LEASE_MS);
    }
    await expectSound(machines);
  });

  it("are answered 429 with a time → no request before that time", async () => {
    const clock = stoppedClock();
    const machines = await lentSince(["asked-1", "asked-2"], clock);
    const wrong = refused(429, "TooManyRequests", { retryAfterSeconds: 20 });
    await setFaults(machines.slice(0, 1), { ...wrong, of: PUT, times: 1 });
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    expect((await askedOf(machines)).length).toBe(1);
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    expect(await askedOf(machines)).toEqual([]);
    // The second machine's heartbeat arrives 24 s after the failure, when the next probe is due.
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    expect(await askedOf(machines)).toEqual(putsOf(machines[1].name, 1));
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    expect((await askedOf(machines)).length).toBe(2);
    await expectSound(machines);
  });

  it("one without an answer → its machine is answered after the deadline, others at once", async () => {
    const clock = stoppedClock();
    const machines = await lentSince(["hangs-1", "hangs-2"], clock);
    const [hanging, neighbour] = machines;
    await setFaults([hanging], { kind: "hangs", of: PUT, times: 1 });
    clock.shift(BEAT_MS / 2);
    let isAnswered = false;
    const beating = hanging.beat().then((frame) => {
      isAnswered = true;
      return frame;
    });
    await eventually(async () => expect(await hanging.asked()).toEqual(putsOf(hanging.name, 1)));
    expect(await neighbour.beat()).toMatchObject({ type: "answer" });
    expect(isAnswered).toBe(false);
    expect(await during(PUT_WITHIN_MS, beating)).toMatchObject({ type: "answer" });
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    for (const machine of machines) expect(longestGap(await machine.renewals())).toBeLessThan(LEASE_MS);
    await expectSound(machines);
  });

  it("take effect all the same → the next one conflicts, and the machine's object reads the lease", async () => {
    const clock = stoppedClock();
    const [machine] = await lentSince(["effect"], clock);
    await setFaults([machine], { kind: "answer lost", of: PUT, times: 1 });
    const before = (await machine.renewals()).length;
    expect(await beatInTurn([machine], clock)).toEqual(["answer"]);
    expect((await machine.renewals()).length).toBe(before + 1);
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toEqual({ type: "again", reason: "lease" });
    expect(await machine.report()).toMatchObject({ status: 200, body: { phase: "registered" } });
    expect(await beatInTurn([machine], clock)).toEqual(["answer"]);
    expect(longestGap(await machine.renewals())).toBeLessThan(LEASE_MS);
    await expectSound([machine]);
  });
});

describe("an apiserver that is unreachable for longer than a lease duration", () => {
  it.each<[situation: string, wrong: Wrong, phase: string]>([
    ["refuses", refused(500, "InternalError"), "apiserver refuses"],
    ["does not answer itself", { kind: "html" }, "apiserver unreachable"],
  ])("it %s → the phase says so, as over HTTP; back → renewed, and lent again", async (_, wrong, phase) => {
    const clock = stoppedClock();
    const names = [1, 2, 3].map((at) => slug("away", phase, String(at)));
    const machines = await lentSince(names, clock);
    await setFaults(machines, wrong);
    const rounds: string[][] = [];
    while (rounds.length < 8) rounds.push(await beatInTurn(machines, clock));
    expect(rounds.slice(0, 3)).toEqual(rounds.slice(0, 3).map(() => all(machines, "answer")));
    expect(rounds.slice(5)).toEqual(rounds.slice(5).map(() => all(machines, phase)));
    for (const machine of machines) {
      expect((await machine.shown()).phase).toBe(phase);
      expect(await machine.state()).toBe("cluster-unreachable");
    }
    await setFaults(machines, "");
    const wellMs = Date.now();
    for (let back = 0; back < 3; back++) await beatInTurn(machines, clock);
    expect(await beatInTurn(machines, clock)).toEqual(all(machines, "answer"));
    for (const machine of machines) {
      const firstMs = (await machine.renewals()).find((atMs) => atMs > wellMs) ?? Infinity;
      expect(firstMs - wellMs).toBeLessThan(2 * BEAT_MS);
      expect(await machine.condition("Ready")).toBe("True");
    }
    await expectSound(machines);
  });
});

it("only one machine's lease is refused → other machines' leases are in time", async () => {
  const clock = stoppedClock();
  const names = ["alone", ...Array.from({ length: 11 }, (_, at) => `alone-not-${at}`)] as const;
  const machines = await lentSince(names, clock);
  const [alone, ...others] = machines;
  await setFaults([alone], { ...refused(403, "Forbidden"), of: PUT });
  for (let rounds = 0; rounds < 10; rounds++) await beatInTurn(machines, clock);
  for (const machine of others) expect(longestGap(await machine.renewals())).toBeLessThan(LEASE_MS);
  expect((await alone.shown()).phase).toBe("apiserver refuses");
  await setFaults([alone], "");
  await beatInTurn(machines, clock);
  await beatInTurn(machines, clock);
  await expectSound(machines);
});
