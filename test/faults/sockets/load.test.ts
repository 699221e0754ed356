// Tests gateways that lose all sockets at once, as during a deploy, and gateways that are full. No lease expires, and
// only one gateway renews each lease.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { moveMachine } from "../../../worker/gateway/gateway-object.ts";
import { enrolled, operator } from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import {
  crash,
  lentMachine,
  lentMachines,
  live,
  type MachineOnSocket,
  passRinging,
  putsOf,
  stoppedClock,
  stubsOf,
} from "./members.ts";
import { BEAT_MS, gatewayOf, LEASE_MS, objectOf, ownGateway } from "./on-socket.ts";

afterEach(() => void vi.restoreAllMocks());

const transportsOf = (machines: readonly MachineOnSocket[]) =>
  Promise.all(machines.map(async (machine) => (await machine.shown()).transport));
const gapsOf = async (machine: MachineOnSocket) => {
  const renewals = await machine.renewals();
  return [...renewals.slice(1), Date.now()].map((atMs, at) => atMs - (renewals[at] ?? 0));
};

describe("a deploy closes all sockets of a gateway", () => {
  it("→ reports over HTTP, no lease expires, all reconnect; `transport` stays socket", async () => {
    const clock = stoppedClock();
    const names = Array.from({ length: 12 }, (_, at) => `deployed-${at}`);
    const gateway = ownGateway();
    const machines = await lentMachines(names, clock, { gateway });
    await live(machines, clock, 2 * BEAT_MS + 1000);
    await evictDurableObject(gatewayOf(gateway), { webSockets: "close" });
    // Each machine's next heartbeat fails, because the socket is closed. A report over HTTP follows.
    for (const machine of machines) {
      clock.shift(BEAT_MS / machines.length);
      expect(await machine.beat()).toBe("closed");
      expect(await machine.http()).toMatchObject({
        status: 200,
        answer: { phase: "registered", ready: true },
      });
    }
    expect(new Set(await transportsOf(machines))).toEqual(new Set(["socket"]));
    for (const machine of machines) {
      clock.shift(5000 / machines.length);
      await machine.connect();
    }
    const said = new Set<string>();
    await live(machines, clock, 4 * BEAT_MS, (each) => said.add(each));
    expect(said).toEqual(new Set(["answer"]));
    for (const machine of machines) {
      expect(Math.max(...(await gapsOf(machine)))).toBeLessThan(LEASE_MS);
      expect(await machine.shown()).toMatchObject({
        phase: "registered",
        silentSince: null,
        transport: "socket",
      });
      expect(await machine.history("silence")).toEqual([]);
    }
  });

  it("→ a machine that then turns silent is found at the next check, though its own alarm was an hour ahead", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("deployed-dies", clock);
    await live([machine], clock, 400_000);
    await crash(gatewayOf(machine.gateway));
    clock.shift(BEAT_MS);
    await machine.http();
    const heardMs = Date.now();
    // The machine becomes silent as late as a machine that never had a socket.
    await passRinging(clock, 300_000 + 45_000, stubsOf([machine]));
    expect(Date.parse((await machine.shown()).silentSince ?? "")).toBe(heardMs);
  });
});

describe("a full gateway", () => {
  const SIZE = env.GATEWAY_SIZE;
  const setSize = (size: number) => Object.assign(env, { GATEWAY_SIZE: size });
  afterEach(() => setSize(SIZE));

  /** Registers a machine at the gateway that the registry assigned. Returns the machine's last answer. */
  async function registered(name: string) {
    const shim = new SocketMachine(await enrolled(name));
    expect(await shim.http()).toMatchObject({ status: 200, answer: { phase: "registered" } });
    return shim;
  }
  const gatewayIn = (path: string) => Number(path.split("/")[3]);

  it("refuses with `try another`; the registry assigns another one, and the next answer has it", async () => {
    const clock = stoppedClock();
    const first = await registered("full-first");
    const full = gatewayIn(first.path);
    // Other machines have filled the gateway before this machine opens its socket.
    const others = await lentMachines(["full-other-1", "full-other-2"], clock, { gateway: full });
    setSize(others.length);
    await expect(first.connect()).rejects.toThrow(/503 .*try-another/);
    clock.shift(BEAT_MS);
    await first.http();
    const other = gatewayIn(first.path);
    expect(other).toBeGreaterThan(full);
    const socket = await first.connect();
    expect(await socket.report()).toMatchObject({ status: 200, body: { phase: "registered" } });
    clock.shift(BEAT_MS);
    const before = await operator("GET", "/v1/nodes/full-first");
    expect(before.body).toMatchObject({ transport: "socket" });
    expect(await socket.beat()).toMatchObject({ type: "answer" });
    // No machine that is already on the gateway must leave it.
    await live(others, clock, BEAT_MS, (said) => expect(said).toBe("answer"));
  });
});

describe("a machine that gets another gateway", () => {
  it("while its lease is lent → the old one closes its socket and renews no more; the new one renews", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("moved", clock);
    await live([machine], clock, BEAT_MS);
    const [old, other] = [machine.gateway, ownGateway()];
    clock.shift(BEAT_MS);
    const late = await machine.socket.heartbeat();
    await objectOf(machine.name).assignGateway(other);
    expect(await machine.socket.next()).toEqual({ type: "closing", reason: "moved", comeBackInMs: 0 });
    expect(await gatewayOf(old).look(machine.name)).toBeNull();
    await machine.asked();
    expect(() => machine.socket.sendText(late)).toThrow();
    expect(await machine.asked()).toEqual([]);
    await machine.http();
    expect(machine.shim.path).toContain(`/v1/gateways/${other}/`);
    await machine.connect();
    await machine.asked();
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toMatchObject({ type: "answer" });
    expect(await machine.asked()).toEqual(putsOf(machine.name, 1));
    expect(await gatewayOf(other).look(machine.name)).toMatchObject({ requests: 1 });
    // The old gateway deletes its record of the moved machine, and reports no silence.
    await passRinging(clock, 60_000, [gatewayOf(old)]);
    expect(await machine.shown()).toMatchObject({ silentSince: null, transport: "socket" });
  });

  it("since its gateway can serve fewer machines → the gateway moves it, and the new one renews", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("relieved", clock);
    await live([machine], clock, BEAT_MS);
    const [from, { kid }] = [machine.gateway, machine.shim.machine];
    await runInDurableObject(gatewayOf(from), () => moveMachine(env, { name: machine.name, kid, from }));
    expect(await machine.socket.next()).toEqual({ type: "closing", reason: "moved", comeBackInMs: 0 });
    clock.shift(BEAT_MS);
    await machine.http();
    expect(machine.shim.path).not.toContain(`/v1/gateways/${from}/`);
    await machine.connect();
    clock.shift(BEAT_MS);
    expect(await machine.beat()).toMatchObject({ type: "answer" });
  });

  it("between its path and its socket → the old gateway lends nothing, and sends it to the new one", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("moved-early", clock);
    clock.shift(BEAT_MS);
    await machine.http();
    const stale = machine.shim.path;
    const other = ownGateway();
    await objectOf(machine.name).assignGateway(other);
    const socket = await machine.shim.connect(stale);
    socket.sendText(await socket.reportFrame());
    expect(await socket.next()).toEqual({ type: "closing", reason: "moved", comeBackInMs: 0 });
    expect(await gatewayOf(machine.gateway).look(machine.name)).toBeNull();
    clock.shift(BEAT_MS);
    await machine.http();
    await machine.connect();
    expect(await gatewayOf(other).look(machine.name)).not.toBeNull();
  });

  it("whose gateway is turned off → it uses HTTP, and gets no path", async () => {
    const clock = stoppedClock();
    const machine = await lentMachine("turned-off", clock);
    const size = env.GATEWAY_SIZE;
    Object.assign(env, { GATEWAY_SIZE: 0 });
    clock.shift(BEAT_MS);
    try {
      machine.socket.sendText(await machine.socket.reportFrame());
      expect(await machine.socket.next()).toMatchObject({ type: "closing", reason: "moved" });
      machine.shim.path = "";
      await machine.http();
      expect(machine.shim.path).toBe("");
    } finally {
      Object.assign(env, { GATEWAY_SIZE: size });
    }
  });
});
