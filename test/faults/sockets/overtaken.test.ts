// Tests a withdrawal that arrives before its loan: during the report that would bring the loan, or while the loan
// is on its way to the gateway. The gateway drops the loan on arrival.
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { rotate } from "../../../node-shim/worker-link/requests.ts";
import { ORIGIN } from "../../worker/support/constants.ts";
import { facts, kube, operator, setFault, transport } from "../../worker/support/machine.ts";
import { SocketMachine } from "../../worker/support/socket-machine.ts";
import { GatewayObject } from "../../../worker/gateway/gateway-object.ts";
import {
  asked,
  BEAT_MS,
  lentBy,
  nextBeat,
  objectOf,
  onHttp,
  type OnSocket,
  onSocket,
  PUT_LEASE,
  renewedBy,
  slowWithdrawals,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const REFUSED = { type: "closing", reason: "refused", comeBackInMs: 600_000 };

afterEach(() => {
  vi.restoreAllMocks();
});

const revoke = async ({ name }: OnSocket) =>
  expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204);

/** Holds the next loan back on its way to the gateway, until the test calls `arrives`. */
function loanOnItsWay(): { sent: Promise<void>; arrives: () => void } {
  const [sent, arrival] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const importKey = crypto.subtle.importKey.bind(crypto.subtle);
  // To take a loan, a gateway first imports the key of its session. The held import therefore holds the loan.
  const held = async (...how: Parameters<typeof importKey>) => {
    const { name } = how[2] as { name?: string };
    if (name !== "HMAC") return importKey(...how);
    sent.resolve();
    await arrival.promise;
    return importKey(...how);
  };
  vi.spyOn(crypto.subtle, "importKey").mockImplementation(held as typeof importKey);
  return { sent: sent.promise, arrives: () => void (vi.restoreAllMocks(), arrival.resolve()) };
}

describe("while a loan is on its way", () => {
  it("an operator revokes the machine's keys → it is dropped, and its session renews nothing", async () => {
    const known = await onSocket("overtaken-revoked");
    const { name, socket } = known;
    shift(BEAT_MS);
    const { sent, arrives } = loanOnItsWay();
    socket.sendText(await socket.reportFrame());
    await sent;
    await revoke(known);
    const renewed = await renewedBy(name, async () => {
      arrives();
      expect(await socket.next()).toEqual(REFUSED);
      expect(await socket.next()).toBe("closed");
    });
    expect(renewed).toBe(0);
    expect(socket.frames.filter(({ type }) => type === "report-answer")).toHaveLength(1);
  });

  it("the machine reports over HTTP → it is dropped: no session, and the HTTP report's renewal is the last", async () => {
    const { name, machine, socket } = await onSocket("overtaken-http");
    shift(BEAT_MS);
    const { sent, arrives } = loanOnItsWay();
    socket.sendText(await socket.reportFrame());
    await sent;
    expect(await renewedBy(name, () => machine.http({ withFacts: true }))).toBe(1);
    arrives();
    expect(await socket.answered()).not.toHaveProperty("session");
    await lentBy(socket);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });

  it("another writer changes the Node → it is dropped, and the change is noticed", async () => {
    const { name, socket } = await onSocket("overtaken-noticed");
    shift(BEAT_MS);
    const { sent, arrives } = loanOnItsWay();
    socket.sendText(await socket.reportFrame());
    await sent;
    await kube("DELETE", `/api/v1/nodes/${name}`);
    await objectOf(name).noticeNode(null);
    arrives();
    expect(await socket.answered()).not.toHaveProperty("session");
    expect(await renewedBy(name, () => socket.report())).toBe(0);
    expect(await socket.report()).toMatchObject({ body: { phase: "node deleted" } });
  });
});

describe("during a withdrawal", () => {
  it("a report of the socket ends → it brings no loan, since the withdrawal would not cover it", async () => {
    const { name, socket } = await onSocket("recall-under-way");
    shift(BEAT_MS);
    await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
    socket.sendText(await socket.reportFrame());
    await asked(name, /^PUT/m);
    const { begun, goesOn } = slowWithdrawals();
    const recalled = objectOf(name).noticeNode(null);
    await begun();
    await setFault(name, "");
    expect(await socket.answered()).not.toHaveProperty("session");
    goesOn();
    await recalled;
    shift(BEAT_MS);
    await lentBy(socket);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });

  it("a report of the socket begins and ends → it brings none either", async () => {
    const { name, socket } = await onSocket("recall-around");
    shift(BEAT_MS);
    const { begun, goesOn } = slowWithdrawals();
    const recalled = objectOf(name).noticeNode(null);
    await begun();
    expect(await socket.report()).not.toHaveProperty("session");
    goesOn();
    await recalled;
    shift(BEAT_MS);
    await lentBy(socket);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });
});

describe("during a report of the socket", () => {
  async function reporting(name: string) {
    const known = await onSocket(name);
    shift(BEAT_MS);
    await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
    known.socket.sendText(await known.socket.reportFrame());
    await asked(name, /^PUT/m);
    return known;
  }

  /** Expects that the report's answer brings no session, and that the next report gets a loan. */
  async function expectNothingLent({ name, socket }: OnSocket): Promise<void> {
    await setFault(name, "");
    expect(await socket.answered()).not.toHaveProperty("session");
    shift(BEAT_MS);
    await lentBy(socket);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  }

  it("its gateway reports the socket's end → it brings no loan, and the next report does", async () => {
    const known = await reporting("ended-in-a-tick");
    await objectOf(known.name).socketEnded(known.gateway, null);
    await expectNothingLent(known);
  });

  /**
   * Calls `happens` after the node object has applied a report, and before it lends the lease for the first time.
   */
  async function beforeLending(name: string, happens: (known: Omit<OnSocket, "socket">) => Promise<unknown>) {
    const known = await onHttp(name);
    const socket = await known.machine.connect();
    shift(BEAT_MS);
    const noteMember = Reflect.get(GatewayObject.prototype, "noteMember");
    vi.spyOn(GatewayObject.prototype, "noteMember").mockImplementationOnce(async function meanwhile(
      this: GatewayObject,
      ...how
    ) {
      await happens(known);
      return noteMember.apply(this, how);
    });
    socket.sendText(await socket.reportFrame());
    return { ...known, socket };
  }

  it("another writer changes the Node → it brings no loan, though there was none before", async () => {
    const notice = ({ name }: { name: string }) => objectOf(name).noticeNode(null);
    await expectNothingLent(await beforeLending("noticed-in-a-tick", notice));
  });

  it("the machine gets another gateway → the former one gets no loan", async () => {
    const move = ({ name, gateway }: { name: string; gateway: number }) =>
      objectOf(name).assignGateway(gateway + 500_000);
    const { socket } = await beforeLending("assigned-in-a-tick", move);
    expect(await socket.answered()).not.toHaveProperty("session");
  });

  it("an operator revokes the machine's keys → no session, and no further renewal", async () => {
    const known = await reporting("overtaken-in-a-tick");
    const { name, socket } = known;
    const revoked = revoke(known);
    expect(await socket.next()).toEqual(REFUSED);
    const renewed = await renewedBy(name, async () => {
      await setFault(name, "");
      await revoked;
      expect(await socket.next()).toBe("closed");
    });
    expect(renewed).toBe(0);
    expect(socket.frames.filter(({ type }) => type === "report-answer")).toHaveLength(1);
  });

  it("the machine's next key reports over HTTP → the old key gets no loan", async () => {
    const { name, socket, enrolled: machine } = await onSocket("overtaken-rotated");
    const key = await makeMachineKey();
    const rotated = await rotate(transport, { ...machine, origin: ORIGIN }, key);
    if (!rotated.ok) throw new Error(JSON.stringify(rotated));
    shift(BEAT_MS);
    const next = new SocketMachine({ ...machine, key, kid: rotated.value.kid, ticket: "" }, "start-2");
    await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
    socket.sendText(await socket.reportFrame());
    await asked(name, /^PUT/m);
    // The changed facts come from a new process of the shim and wait for a tick. No tick runs for them in this test.
    const changed = facts(name, { versions: { kernel: "6.2.0", osImage: "Test Linux" } });
    expect(await next.http({ facts: changed })).toMatchObject({ answer: { phase: "registering" } });
    await setFault(name, "");
    expect(await socket.answered()).not.toHaveProperty("session");
    expect(await socket.report()).toMatchObject({ status: 403, body: { reason: "key-revoked" } });
  });
});
