// Tests the gateway's Durable Object with real sockets, real evictions and an apiserver. gateway.test.ts tests the
// gateway without the platform.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { GatewayFrame } from "../../../shared/protocol/frames.ts";
import { GATEWAY_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import { GATEWAY_OPENING, type GatewayObject } from "../../../worker/gateway/gateway-object.ts";
import { WATCH_LIMITS } from "../../../worker/gateway/gateway.ts";
import type { LeaseLender, ReturnedLoan } from "../../../worker/machine/lease-loan.ts";
import { eventually, shift } from "../support/clock.ts";
import { KUBE_TOKEN, KUBE_URL } from "../support/constants.ts";
import { leaseOf, MachineSocket, openedBy, loanOf } from "../support/made-up-gateway.ts";

// wrangler.toml does not have the binding KUBE. set-up.ts gives each test file its own.
const bound = env as unknown as { KUBE: Fetcher };
const LEASES = `${KUBE_URL}/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases`;

async function apiserver(method: string, url: string, body?: object): Promise<Lease> {
  const headers = { authorization: `Bearer ${KUBE_TOKEN}`, "content-type": "application/json" };
  const response = await bound.KUBE.fetch(url, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.json();
}

let gateways = 0;

/** A gateway's Durable Object. The test stands in for the node objects. */
class RealGateway {
  readonly stub = env.GATEWAYS.getByName(`real-${gateways++}`);
  readonly woken: { what: string; returned?: ReturnedLoan | null }[] = [];
  #lease: Lease | undefined;

  readonly #node: LeaseLender = {
    reportBySocket: async ({ request: { name }, returned }) => {
      this.woken.push({ what: "report", returned });
      this.#lease = await apiserver("GET", `${LEASES}/${name}`);
      const loan = loanOf(name, { epoch: this.woken.length, lease: this.#lease });
      const value = { phase: "registered", ready: true, ticket: "t", reportInMs: 0 } as const;
      return { answer: { ok: true, value }, lent: { order: loan, key: "worker-key" } };
    },
    socketEnded: async (_, returned) => void this.woken.push({ what: "ended", returned }),
    noteReplacedBeat: async () => void this.woken.push({ what: "replaced beat" }),
  };

  /** Replaces the node objects by the test's. The test calls this method each time the gateway has woken. */
  async wake(): Promise<void> {
    await runInDurableObject(this.stub, (instance: GatewayObject) => {
      const own = { ...env, NODES: { getByName: () => this.#node } };
      Object.assign(instance, { env: own });
    });
  }

  ask(name: string, ticket: string): Promise<Response> {
    const headers = {
      upgrade: "websocket",
      [GATEWAY_OPENING]: JSON.stringify({ ...openedBy(name), ticket }),
    };
    return this.stub.fetch(new Request("https://gateway.test/", { headers }));
  }

  async open(name: string): Promise<RealSocket> {
    await this.wake();
    const { webSocket } = await this.ask(name, crypto.randomUUID());
    if (!webSocket) throw new Error("no socket");
    return new RealSocket(name, webSocket);
  }

  /** Opens a socket whose report is accepted and gets a loan. */
  async connected(name: string): Promise<RealSocket> {
    const { metadata, spec } = leaseOf(name);
    const { uid: _, resourceVersion: __, ...made } = metadata ?? {};
    await apiserver("POST", LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: made,
      spec,
    });
    const socket = await this.open(name);
    expect(await socket.report()).toMatchObject({ type: "report-answer", status: 200 });
    return socket;
  }

  untilWoken(count: number): Promise<void> {
    return until(() => this.woken.length >= count);
  }
}

/** The machine's end of a real socket. */
class RealSocket {
  readonly socket: WebSocket;
  readonly machine: MachineSocket;
  readonly closed: Promise<CloseEvent>;
  readonly #waiting: ((frame: GatewayFrame) => void)[] = [];

  constructor(name: string, socket: WebSocket) {
    this.machine = new MachineSocket(name);
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    socket.addEventListener("message", ({ data }) => {
      this.machine.send(data);
      this.#waiting.shift()?.(this.machine.last!);
    });
    socket.accept();
  }

  answered(frame: string): Promise<GatewayFrame> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.socket.send(frame);
    });
  }

  report(): Promise<GatewayFrame> {
    return this.answered(JSON.stringify({ type: "report", token: "jwt", body: "{}" }));
  }

  async beat(): Promise<GatewayFrame> {
    return this.answered(await this.machine.beat(Date.now()));
  }
}

async function until(isSo: () => boolean): Promise<void> {
  await eventually(() => expect(isSo()).toBe(true));
}

const renewTime = async (name: string) => (await apiserver("GET", `${LEASES}/${name}`)).spec?.renewTime;

describe("a machine's socket", () => {
  it("a heartbeat renews the lease without the machine's object", async () => {
    const gateway = new RealGateway();
    const socket = await gateway.connected("gw-beats");
    const before = await renewTime("gw-beats");
    expect(await socket.beat()).toMatchObject({ type: "answer", n: 1 });
    expect(await renewTime("gw-beats")).not.toBe(before);
    expect(await socket.beat()).toMatchObject({ type: "answer", n: 2 });
    expect(gateway.woken.length).toBe(1);
    expect(await gateway.stub.look("gw-beats")).toMatchObject({ epoch: 1, requests: 1 });
  });

  it("the machine's object withdraws the loan and dismisses the machine through the platform", async () => {
    const gateway = new RealGateway();
    const socket = await gateway.connected("gw-recall");
    expect(await gateway.stub.recall("gw-recall", 1)).toMatchObject({ epoch: 1, requests: 0 });
    expect(await socket.beat()).toEqual({ type: "again", reason: "over" });
    expect(await gateway.stub.reportNow("gw-recall")).toBe(true);
    await gateway.stub.dismiss("gw-recall", "left");
    await socket.closed;
    expect(socket.machine.said.slice(-2)).toEqual(["report-now", "left"]);
    expect(gateway.woken.length).toBe(1);
  });

  it("a close → the machine's object is notified at once", async () => {
    const gateway = new RealGateway();
    const socket = await gateway.connected("gw-closes");
    await socket.beat();
    socket.socket.close(1000, "bye");
    await gateway.untilWoken(2);
    expect(gateway.woken[1]).toMatchObject({ what: "ended", returned: { epoch: 1, requests: 1 } });
    await socket.closed;
  });

  it("a frame of another form → the gateway closes the socket", async () => {
    const gateway = new RealGateway();
    const socket = await gateway.connected("gw-bad");
    expect(await socket.answered("hello")).toMatchObject({ type: "closing", reason: "bad frame" });
    await socket.closed;
    await gateway.untilWoken(2);
    expect(gateway.woken[1]).toMatchObject({ what: "ended" });
  });

  it("a later socket takes its place → the close of the first one ends nothing", async () => {
    const gateway = new RealGateway();
    const socket = await gateway.connected("gw-two");
    const next = await gateway.open("gw-two");
    await next.report();
    await socket.closed;
    expect(socket.machine.last).toMatchObject({ type: "closing", reason: "replaced" });
    expect(await next.beat()).toMatchObject({ type: "answer" });
    expect(gateway.woken.map(({ what }) => what)).toEqual(["report", "report"]);
  });
});

describe("a refused opening", () => {
  /** Returns the sockets that the platform lists for this gateway. */
  const sockets = ({ stub }: RealGateway) =>
    runInDurableObject(stub, (_, state) => state.getWebSockets().length);

  it("its ticket was used → a text with the reason, and no further socket", async () => {
    const gateway = new RealGateway();
    await gateway.wake();
    expect((await gateway.ask("gw-opens", "once")).status).toBe(101);
    const again = await gateway.ask("gw-opens", "once");
    expect([again.status, again.webSocket, await again.text()]).toEqual([200, null, "used ticket"]);
    expect(await sockets(gateway)).toBe(1);
  });

  it("GATEWAY_SIZE machines → full; fewer → a socket", async () => {
    const gateway = new RealGateway();
    const { GATEWAY_SIZE } = env;
    const hasRoomFor = (machines: number) => Object.assign(env, { GATEWAY_SIZE: machines });
    try {
      hasRoomFor(1);
      expect((await gateway.ask("gw-first", "1")).status).toBe(101);
      const refused = await gateway.ask("gw-second", "2");
      expect([refused.webSocket, await refused.text()]).toEqual([null, "full"]);
      expect(await sockets(gateway)).toBe(1);
      hasRoomFor(2);
      expect((await gateway.ask("gw-second", "3")).status).toBe(101);
    } finally {
      Object.assign(env, { GATEWAY_SIZE });
    }
  });
});

describe("a gateway without machines", () => {
  it("has no metrics, sets no alarm, and returns no loan", async () => {
    const { stub } = new RealGateway();
    expect(await stub.metrics()).toEqual({});
    await stub.care();
    expect(await runDurableObjectAlarm(stub)).toBe(false);
    expect(await stub.look("gw-nobody")).toBeNull();
    expect(await stub.recall("gw-nobody", 1)).toBeNull();
    expect(await stub.reportNow("gw-nobody")).toBe(false);
    for (const why of ["left", "moved", "refused"] as const) await stub.dismiss("gw-nobody", why);
    expect(await stub.metrics()).toEqual({});
  });

  it("gets a member without a socket → has metrics, and an alarm that finds out", async () => {
    const { stub } = new RealGateway();
    expect(await stub.noteMember("gw-noted", 7)).toBe(true);
    expect(await stub.metrics()).toMatchObject({
      rollcall_gateway_machines: [{ labels: { gateway: "7" }, value: 1 }],
    });
    expect(await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())).toBe(
      Date.now() + WATCH_LIMITS.checkMs,
    );
  });
});

describe("the alarm", () => {
  it("a socket without an accepted report → closed in time, and no further alarm", async () => {
    const gateway = new RealGateway();
    const { closed, machine } = await gateway.open("gw-silent");
    shift(1000 * GATEWAY_LIMITS.unacceptedSeconds);
    expect(await runDurableObjectAlarm(gateway.stub)).toBe(true);
    await closed;
    expect(machine.last).toMatchObject({ type: "closing", reason: "no report" });
    expect(gateway.woken).toEqual([]);
    expect(await runDurableObjectAlarm(gateway.stub)).toBe(false);
  });
});

describe("an eviction", () => {
  it("sockets stay; after its next heartbeat the machine is asked for a report, and continues", async () => {
    const gateway = new RealGateway();
    const socket = await gateway.connected("gw-evicted");
    await socket.beat();
    await evictDurableObject(gateway.stub);
    await gateway.wake();
    expect(await socket.beat()).toEqual({ type: "again", reason: "no session" });
    await socket.report();
    expect(gateway.woken[1]).toEqual({ what: "report", returned: null });
    expect(await socket.beat()).toMatchObject({ type: "answer" });
  });

  it("closes the sockets → the alarm notifies the machines' objects", async () => {
    const gateway = new RealGateway();
    await gateway.connected("gw-deployed");
    await evictDurableObject(gateway.stub, { webSockets: "close" });
    await gateway.wake();
    expect(await runDurableObjectAlarm(gateway.stub)).toBe(true);
    expect(gateway.woken.slice(1)).toEqual([{ what: "ended", returned: null }]);
    expect(await runDurableObjectAlarm(gateway.stub)).toBe(false);
  });
});

it("metrics have the gateway's own number; care() sets a lost alarm", async () => {
  const gateway = new RealGateway();
  const socket = await gateway.connected("gw-metrics");
  await socket.beat();
  expect(await gateway.stub.metrics()).toMatchObject({
    rollcall_gateway_machines: [{ labels: { gateway: "7" }, value: 1 }],
    rollcall_gateway_heartbeats_total: [{ value: 1 }],
    rollcall_gateway_request_duration_seconds: [{ labels: { verb: "PUT", code: "200" } }],
  });
  await runInDurableObject(gateway.stub, (_, { storage }) => storage.deleteAlarm());
  await evictDurableObject(gateway.stub);
  await gateway.stub.care();
  expect(await runInDurableObject(gateway.stub, (_, { storage }) => storage.getAlarm())).not.toBeNull();
});
