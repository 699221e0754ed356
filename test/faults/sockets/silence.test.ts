// Machines that are not heard of any more, however their sockets end: each is silent in time, and nobody else is.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WATCH_LIMITS } from "../../../worker/gateway/watch.ts";
import {
  alarmOf,
  allOnSockets,
  BEAT_MS,
  crash,
  evict,
  gatewayObject,
  LEASE_MS,
  live,
  type MachineOnSocket,
  nodeObject,
  onSocket,
  pass,
  stubsOf,
  standingClock,
} from "./on-socket.ts";

/** From the last heartbeat. */
const NOTICED_MS = 45_000;
let gateways = 22_000;

afterEach(() => void vi.restoreAllMocks());

/** Its last heartbeat was at this time: in `withinMs` from there it is known to be silent since then, and not before. */
async function expectSilent(machine: MachineOnSocket, heardMs: number): Promise<void> {
  const { silentSince } = await machine.shown();
  expect(Math.abs(Date.parse(silentSince ?? "") - heardMs), silentSince ?? "not silent").toBeLessThan(2000);
  expect(await machine.state()).toBe("silent");
  const [line] = await machine.history("silence");
  expect(line).toMatch(/^silent since .*; last said: Ready True: /);
}

const expectHeardOf = async (machine: MachineOnSocket) =>
  expect(await machine.shown()).toMatchObject({ silentSince: null, phase: "registered" });

describe("a machine whose last words were a quiet heartbeat", () => {
  const ends: [situation: string, end: (machine: MachineOnSocket) => unknown][] = [
    ["its socket closes", ({ socket }) => socket.close()],
    ["its network is cut, and its socket stays half-open", () => undefined],
    ["its gateway crashes", ({ gateway }) => crash(gatewayObject(gateway))],
    [
      "its gateway and its object crash",
      ({ gateway, name }) => Promise.all([crash(gatewayObject(gateway)), crash(nodeObject(name))]),
    ],
    [
      "a deployment closes its socket",
      ({ gateway }) => evictDurableObject(gatewayObject(gateway), { webSockets: "close" }),
    ],
    [
      "its gateway is evicted, and its socket stays half-open",
      ({ gateway }) => evict(gatewayObject(gateway)),
    ],
    ["its object is evicted, and its socket stays half-open", ({ name }) => evict(nodeObject(name))],
  ];

  it.each(ends)("%s → silent within 45 s of them", async (situation, end) => {
    const clock = standingClock();
    const machine = await onSocket(`silent-${ends.findIndex(([name]) => name === situation)}`, clock, {
      gateway: ++gateways,
    });
    for (let beats = 0; beats < 5; beats++) {
      clock.shift(BEAT_MS);
      expect(await machine.beat()).toMatchObject({ type: "answer" });
    }
    const heardMs = Date.now();
    await end(machine);
    await pass(clock, LEASE_MS - 1000, stubsOf([machine]));
    await expectHeardOf(machine);
    await pass(clock, heardMs + NOTICED_MS - Date.now(), stubsOf([machine]));
    await expectSilent(machine, heardMs);
    // Nothing was renewed for it.
    expect((await machine.renewals()).at(-1)).toBeLessThanOrEqual(heardMs);
  });
});

/** One by which nothing was ever said. */
const lostAlarm = (gateway: number) =>
  runInDurableObject(gatewayObject(gateway), (_, { storage }) => storage.deleteAlarm());

describe("a gateway's members that never come back", () => {
  it("more of them than are told at once, after an eviction → all are silent in time", async () => {
    const clock = standingClock();
    const names = Array.from({ length: WATCH_LIMITS.toldAtOnce + 5 }, (_, at) => `gone-${at}`);
    const gateway = ++gateways;
    const machines = await allOnSockets(names, clock, { gateway });
    clock.shift(BEAT_MS);
    await Promise.all(machines.map((machine) => machine.beat()));
    const heardMs = Date.now();
    await evictDurableObject(gatewayObject(gateway), { webSockets: "close" });
    await pass(clock, heardMs + NOTICED_MS - Date.now(), stubsOf(machines));
    for (const machine of machines.slice(-2)) await expectSilent(machine, heardMs);
    const shown = await Promise.all(machines.map((machine) => machine.shown()));
    expect(shown.filter(({ silentSince }) => silentSince === null)).toEqual([]);
    expect(await alarmOf(gatewayObject(gateway))).toBeNull();
  });

  it("and its alarm was lost → the next look after it sets another one", async () => {
    const clock = standingClock();
    const gateway = ++gateways;
    const machine = await onSocket("gone-alarm", clock, { gateway });
    const heardMs = Date.now();
    await lostAlarm(gateway);
    await crash(gatewayObject(gateway));
    await pass(clock, 60_000, stubsOf([machine]));
    await expectHeardOf(machine);
    // As the cron trigger does each minute.
    await gatewayObject(gateway).care();
    await pass(clock, WATCH_LIMITS.lookMs + 1000, stubsOf([machine]));
    await expectSilent(machine, heardMs);
  });

  it("but one does → it alone is not silent", async () => {
    const clock = standingClock();
    const machines = await allOnSockets(["back-1", "back-2", "back-3"], clock, { gateway: ++gateways });
    const [back, ...gone] = machines;
    const heardMs = Date.now();
    await crash(gatewayObject(gateways));
    await live([back!], clock, NOTICED_MS);
    await pass(clock, heardMs + NOTICED_MS - Date.now(), stubsOf(machines));
    await expectHeardOf(back!);
    for (const machine of gone) await expectSilent(machine, heardMs);
  });
});

describe("nobody is called silent", () => {
  it("who sends heartbeats, while its own object's alarm rings: once after five minutes, then each hour", async () => {
    const clock = standingClock();
    const machine = await onSocket("heard-alarms", clock, { gateway: ++gateways });
    expect(await live([machine], clock, 900_000)).toBe(1);
    const leftMs = ((await alarmOf(nodeObject(machine.name))) ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(2_900_000);
    await expectHeardOf(machine);
    expect(await machine.history("silence")).toEqual([]);
  });

  it("whose gateway was evicted with its socket → told to report once, and lent to again", async () => {
    const clock = standingClock();
    const machines = await allOnSockets(["heard-evicted-1", "heard-evicted-2"], clock, {
      gateway: ++gateways,
    });
    await evict(gatewayObject(gateways));
    clock.shift(BEAT_MS);
    for (const machine of machines) {
      expect(await machine.beat()).toEqual({ type: "again", reason: "no session" });
      expect(await machine.report()).toMatchObject({ status: 200, body: { phase: "registered" } });
    }
    const said: string[] = [];
    await live(machines, clock, 120_000, (each) => said.push(each));
    expect(new Set(said)).toEqual(new Set(["answer"]));
    for (const machine of machines) await expectHeardOf(machine);
  });

  it.each<[situation: string, end: (machine: MachineOnSocket) => unknown]>([
    ["closed", ({ socket }) => socket.close()],
    ["was lost with its gateway", ({ gateway }) => crash(gatewayObject(gateway))],
    ["is half-open", () => undefined],
  ])("whose socket %s, and who reports by HTTP", async (situation, end) => {
    const clock = standingClock();
    const name = `heard-http-${situation.replaceAll(" ", "-")}`;
    const machine = await onSocket(name, clock, { gateway: ++gateways });
    await end(machine);
    for (let reports = 0; reports < 12; reports++) {
      await pass(clock, BEAT_MS, stubsOf([machine]));
      expect(await machine.http()).toMatchObject({ status: 200 });
    }
    await expectHeardOf(machine);
    expect(await machine.history("silence")).toEqual([]);
  });

  it("whose half-open socket is followed by another one", async () => {
    const clock = standingClock();
    const machine = await onSocket("heard-half-open", clock, { gateway: ++gateways });
    const { socket } = machine;
    await pass(clock, BEAT_MS, stubsOf([machine]));
    await machine.http();
    await machine.connect();
    await live([machine], clock, 120_000, (said) => expect(said).toBe("answer"));
    expect(socket.frames.at(-1)).toMatchObject({ type: "closing", reason: "replaced" });
    await expectHeardOf(machine);
  });
});
