// Tests machines that turn silent, however their sockets end: the Worker notices each in time, and counts no other
// machine as silent.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { GatewayObject } from "../../../worker/gateway/gateway-object.ts";
import { WATCH_LIMITS } from "../../../worker/gateway/gateway.ts";
import { enrolling, HEALTHY, mintToken, operator, setFault } from "../../worker/support/machine.ts";
import { eventually } from "../../worker/support/clock.ts";
import {
  alarmOf,
  lentMachines,
  crash,
  live,
  type MachineOnSocket,
  lentMachine,
  passRinging,
  stubsOf,
  stoppedClock,
} from "./members.ts";
import { BEAT_MS, gatewayOf, LEASE_MS, objectOf, ownGateway, evictGateway, evictNode } from "./on-socket.ts";

/** Milliseconds between the last heartbeat and the time at which a machine counts as silent. */
const NOTICED_MS = 45_000;
const SHORT_OF_MEMORY = {
  signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * 2 ** 30] as [number, number] },
};

afterEach(() => void vi.restoreAllMocks());

/**
 * Expects that the Worker counts the machine as silent since `heardMs`, and has updated the fleet index and the
 * history.
 */
async function expectSilent(machine: MachineOnSocket, heardMs: number): Promise<void> {
  const { silentSince } = await machine.shown();
  expect(Math.abs(Date.parse(silentSince ?? "") - heardMs), silentSince ?? "not silent").toBeLessThan(2000);
  expect(await machine.state()).toBe("silent");
  const [line] = await machine.history("silence");
  expect(line).toMatch(/^silent since .*; last said: Ready True: /);
}

const expectHeardOf = async (machine: MachineOnSocket) =>
  expect(await machine.shown()).toMatchObject({ silentSince: null, phase: "registered" });

describe("a machine whose last message was a quiet heartbeat", () => {
  const ends: [situation: string, end: (machine: MachineOnSocket) => unknown][] = [
    ["its socket closes", ({ socket }) => socket.close()],
    ["its network is cut, and its socket stays half-open", () => undefined],
    ["its gateway crashes", ({ gateway }) => crash(gatewayOf(gateway))],
    [
      "its gateway and its object crash",
      ({ gateway, name }) => Promise.all([crash(gatewayOf(gateway)), crash(objectOf(name))]),
    ],
    [
      "a deployment closes its socket",
      ({ gateway }) => evictDurableObject(gatewayOf(gateway), { webSockets: "close" }),
    ],
    ["its gateway is evicted, and its socket stays half-open", ({ gateway }) => evictGateway(gateway)],
    ["its object is evicted, and its socket stays half-open", ({ name }) => evictNode(name)],
  ];

  it.each(ends)("%s → silent within 45 s of it", async (situation, end) => {
    const clock = stoppedClock();
    const machine = await lentMachine(`silent-${ends.findIndex(([name]) => name === situation)}`, clock);
    for (let beats = 0; beats < 5; beats++) {
      clock.shift(BEAT_MS);
      expect(await machine.beat()).toMatchObject({ type: "answer" });
    }
    const heardMs = Date.now();
    await end(machine);
    await passRinging(clock, LEASE_MS - 1000, stubsOf([machine]));
    await expectHeardOf(machine);
    await passRinging(clock, heardMs + NOTICED_MS - Date.now(), stubsOf([machine]));
    await expectSilent(machine, heardMs);
    // After the machine's last message, no renewal followed.
    expect((await machine.renewals()).at(-1)).toBeLessThanOrEqual(heardMs);
  });

  it("its socket closes after a report without a loan, and another alarm of its object rings first → silent in 45 s", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("silent-unlent", clock);
    clock.shift(120_000);
    // After a pressure the object decides about each report, so that it lends no lease.
    for (const vitals of [SHORT_OF_MEMORY, HEALTHY, HEALTHY]) {
      clock.shift(BEAT_MS);
      expect(await machine.report({ vitals })).toMatchObject({ status: 200 });
      expect(machine.socket.session).toBeNull();
    }
    const heardMs = Date.now();
    await passRinging(clock, 15_000, stubsOf([machine]));
    await evictNode(machine.name);
    machine.socket.close();
    const alarmInMs = async () => ((await alarmOf(objectOf(machine.name))) ?? Infinity) - heardMs;
    await eventually(async () => expect(await alarmInMs()).toBeLessThan(LEASE_MS + 1000));
    await runDurableObjectAlarm(objectOf(machine.name));
    await passRinging(clock, heardMs + NOTICED_MS - Date.now(), stubsOf([machine]));
    expect(await machine.state()).toBe("silent");
  });

  it("its socket closes, its object is evicted, and the apiserver fails → silent within 45 s of it", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("silent-unread", clock);
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toMatchObject({ type: "answer" });
    const heardMs = Date.now();
    machine.socket.close();
    await passRinging(clock, 20_000, stubsOf([machine]));
    await evictNode(machine.name);
    await setFault(machine.name, "etcd is away");
    await passRinging(clock, heardMs + NOTICED_MS - Date.now(), stubsOf([machine]));
    await expectSilent(machine, heardMs);
  });
});

/** Deletes the gateway's alarm without the gateway's knowledge. */
const lostAlarm = (gateway: number) =>
  runInDurableObject(gatewayOf(gateway), (_, { storage }) => storage.deleteAlarm());

describe("a gateway's members that never return", () => {
  it("more of them than one turn notifies, after an eviction → all are silent in time", async () => {
    const clock = stoppedClock();
    const names = Array.from({ length: WATCH_LIMITS.notifiedAtOnce + 5 }, (_, at) => `gone-${at}`);
    const gateway = ownGateway();
    const machines = await lentMachines(names, clock, { gateway });
    clock.shift(BEAT_MS);
    await Promise.all(machines.map((machine) => machine.beat()));
    const heardMs = Date.now();
    await evictDurableObject(gatewayOf(gateway), { webSockets: "close" });
    // The wait ends 12 s after the limit: on a busy computer some objects answer late, and the gateway notifies
    // them again ten seconds later.
    await passRinging(clock, heardMs + NOTICED_MS + 12_000 - Date.now(), stubsOf(machines));
    for (const machine of machines.slice(-2)) await expectSilent(machine, heardMs);
    const shown = await Promise.all(machines.map((machine) => machine.shown()));
    expect(shown.filter(({ silentSince }) => silentSince === null)).toEqual([]);
    expect(await alarmOf(gatewayOf(gateway))).toBeNull();
  });

  it("and its alarm was lost → the next check sets another one", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("gone-alarm", clock);
    const { gateway } = machine;
    const heardMs = Date.now();
    await lostAlarm(gateway);
    await crash(gatewayOf(gateway));
    await passRinging(clock, 20_000, stubsOf([machine]));
    expect(await alarmOf(gatewayOf(gateway))).toBeNull();
    // `care` runs as the cron trigger calls it each minute.
    await gatewayOf(gateway).care();
    await passRinging(clock, WATCH_LIMITS.checkMs + 1000, stubsOf([machine]));
    await expectSilent(machine, heardMs);
  });

  it("except one → it alone is not silent", async () => {
    const clock = stoppedClock();
    const machines = await lentMachines(["back-1", "back-2", "back-3"], clock);
    const [back, ...gone] = machines;
    const heardMs = Date.now();
    await crash(gatewayOf(back.gateway));
    await live([back], clock, NOTICED_MS);
    await passRinging(clock, heardMs + NOTICED_MS - Date.now(), stubsOf(machines));
    await expectHeardOf(back);
    for (const machine of gone) await expectSilent(machine, heardMs);
  });
});

describe("a machine does not count as silent", () => {
  it("that sends heartbeats while its own object's alarm rings: once when the lease after its last report over HTTP ends, then each hour", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("heard-alarms", clock);
    expect(await live([machine], clock, 900_000)).toBe(1);
    const leftMs = ((await alarmOf(objectOf(machine.name))) ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(2_700_000);
    await expectHeardOf(machine);
    expect(await machine.history("silence")).toEqual([]);
  });

  it("whose gateway was evicted with its socket → asked once for a report, and gets a loan again", async () => {
    const clock = stoppedClock();
    const machines = await lentMachines(["heard-evicted-1", "heard-evicted-2"], clock);
    await evictGateway(machines[0].gateway);
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

  it.each([
    ["whose socket is closed", false],
    ["whose gateway does not hear of it", true],
  ])("who has not reported yet, and was approved for the name of a machine %s", async (_, isUnheard) => {
    const clock = stoppedClock();
    const machine = await lentMachine(`approved-${isUnheard}`, clock);
    const { name, socket } = machine;
    const unheard = () => Promise.reject(new Error("reset"));
    if (isUnheard) vi.spyOn(GatewayObject.prototype, "dismiss").mockImplementation(unheard);
    const key = await makeMachineKey();
    expect(await enrolling(name, { joinToken: await mintToken({ names: name }), key })).toMatchObject({
      reason: "name-pinned",
    });
    const approval = { thumbprint: key.thumbprint };
    expect((await operator("POST", `/v1/nodes/${name}/approve`, approval)).status).toBe(204);
    expect(socket.closed !== null || socket.frames.at(-1)?.type === "closing").toBe(!isUnheard);
    // The node object asks the gateway again within a minute.
    await passRinging(clock, 60_000, stubsOf([machine]));
    expect((await machine.shown()).silentSince).toBeNull();
  });

  it.each<[situation: string, end: (machine: MachineOnSocket) => unknown]>([
    ["closed", ({ socket }) => socket.close()],
    ["was lost with its gateway", ({ gateway }) => crash(gatewayOf(gateway))],
    ["is half-open", () => undefined],
  ])("whose socket %s, and who reports by HTTP", async (situation, end) => {
    const clock = stoppedClock();
    const name = `heard-http-${situation.replaceAll(" ", "-")}`;
    const machine = await lentMachine(name, clock);
    await end(machine);
    for (let reports = 0; reports < 12; reports++) {
      await passRinging(clock, BEAT_MS, stubsOf([machine]));
      expect(await machine.http()).toMatchObject({ status: 200 });
    }
    await expectHeardOf(machine);
    expect(await machine.history("silence")).toEqual([]);
  });

  it("whose half-open socket is replaced by another one", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("heard-half-open", clock);
    const { socket } = machine;
    await passRinging(clock, BEAT_MS, stubsOf([machine]));
    await machine.http();
    await machine.connect();
    await live([machine], clock, 120_000, (said) => expect(said).toBe("answer"));
    expect(socket.frames.at(-1)).toMatchObject({ type: "closing", reason: "replaced" });
    await expectHeardOf(machine);
  });
});
