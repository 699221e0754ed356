// Tests two sockets of one machine: the gateway accepts one, and frames on the other renew nothing.
import { describe, expect, it } from "vitest";
import { requestsAbout, setFault } from "../../worker/support/machine.ts";
import {
  asked,
  BEAT_MS,
  GET_LEASE,
  halfOpen,
  historyOf,
  lentBy,
  nextBeat,
  onSocket,
  PUT_LEASE,
  renewedBy,
  ringGateway,
  shown,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const ANSWER = { type: "answer" };
const REPLACED = { type: "closing", reason: "replaced", comeBackInMs: 600_000 };

/** Returns a machine whose first socket has the loan. The machine may open another socket. */
async function mayOpenAnother(name: string) {
  const known = await onSocket(name);
  shift(BEAT_MS);
  await known.machine.http();
  shift(BEAT_MS);
  await lentBy(known.socket);
  return known;
}

/** Returns a machine with a second open socket, on which it has not reported yet. */
async function onTwoSockets(name: string) {
  const known = await mayOpenAnother(name);
  shift(BEAT_MS / 2);
  return { ...known, second: await known.machine.connect() };
}

describe("a second socket of a machine", () => {
  it("that has not reported → heartbeats on the first one still renew", async () => {
    const { name, socket, second } = await onTwoSockets("second-is-open");
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
    second.close();
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });

  it("whose report is accepted → the first one closes, and its loan is returned with it: the lease is not read", async () => {
    const { name, socket, second } = await onTwoSockets("second-is-accepted");
    expect(await socket.beat()).toMatchObject(ANSWER);
    await requestsAbout(name);
    await lentBy(second);
    expect(await socket.next()).toEqual(REPLACED);
    expect(await socket.next()).toBe("closed");
    expect(await renewedBy(name, () => nextBeat(second))).toBe(1);
    expect((await requestsAbout(name)).filter((request) => GET_LEASE.test(request))).toEqual([]);
  });

  it("that is refused → the first one stays the machine's", async () => {
    const { name, socket, second } = await onTwoSockets("second-is-refused");
    // The refused report ended the loan, if there was one: the next report gets a new one.
    second.sendText(JSON.stringify({ type: "report", token: "none", body: "{}" }));
    expect(await second.next()).toMatchObject({ type: "report-answer", status: 401 });
    expect(await socket.beat()).toEqual({ type: "again", reason: "over" });
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });

  it("whose report runs at the same time as the first one's → the last accepted one is the machine's", async () => {
    const { name, socket, second } = await onTwoSockets("second-at-once");
    const renewed = await renewedBy(name, async () => {
      await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
      socket.sendText(await socket.reportFrame());
      await asked(name, /^PUT/m);
      second.sendText(await second.reportFrame());
      await setFault(name, "");
      expect(await second.answered()).toMatchObject({ status: 200, session: {} });
    });
    expect(renewed).toBe(2);
    expect(await socket.answered()).toMatchObject({ status: 200, session: {} });
    expect(await socket.next()).toEqual(REPLACED);
    expect(await renewedBy(name, () => nextBeat(second))).toBe(1);
  });
});

describe("a socket that another one has replaced", () => {
  async function replaced(name: string) {
    const known = await mayOpenAnother(name);
    const { machine, gateway, socket } = known;
    const late = await halfOpen(gateway, name);
    expect(await nextBeat(socket)).toMatchObject(ANSWER);
    shift(BEAT_MS);
    const before = await socket.heartbeat();
    const second = await machine.connect();
    shift(BEAT_MS / 2);
    await lentBy(second);
    return { ...known, late, second, before };
  }

  it("→ its own heartbeats and reports renew nothing", async () => {
    const { name, socket, late, before } = await replaced("replaced-renews-nothing");
    shift(BEAT_MS);
    const frames = [before, await socket.heartbeat(), await socket.reportFrame(), "nothing"];
    const renewed = await renewedBy(name, async () => {
      for (const frame of frames) await late(frame);
    });
    expect(renewed).toBe(0);
  });

  it("which delivers an earlier heartbeat late → no effect", async () => {
    const { name, second, late, before } = await replaced("replaced-and-late");
    await late(before);
    expect(await renewedBy(name, () => nextBeat(second))).toBe(1);
    await lentBy(second);
  });

  it("which delivers a later heartbeat → the process runs twice: no loan for an hour", async () => {
    const { name, socket, second, late } = await replaced("replaced-and-used");
    shift(BEAT_MS);
    await late(await socket.heartbeat());
    expect(await renewedBy(name, () => second.beat())).toBe(0);
    expect(second.frames.at(-1)).toEqual({ type: "again", reason: "over" });
    expect(await second.report()).not.toHaveProperty("session");
    // The late heartbeats are counted once for each socket.
    await late(await socket.heartbeat({ n: socket.session!.n + 2 }));
    shift(3_600_001);
    expect(await second.report()).toMatchObject({ status: 200, body: { phase: "registered" } });
    shift(BEAT_MS);
    await lentBy(second);
    expect(await historyOf(name, "identity")).toEqual([]);
  });
});

describe("a half-open socket", () => {
  it("of a machine that has reconnected → it does not count as silent, and its old loan is gone", async () => {
    const { name, machine, gateway, socket } = await onSocket("half-open");
    expect(await nextBeat(socket)).toMatchObject(ANSWER);
    const late = await halfOpen(gateway, name);
    const unsent = await socket.heartbeat();
    // The machine notices a half-open socket after at most 18 seconds without an answer; the gateway does not notice it.
    shift(2 * BEAT_MS);
    expect(await renewedBy(name, () => machine.http())).toBe(1);
    const next = await machine.connect();
    shift(BEAT_MS);
    expect(await renewedBy(name, () => lentBy(next))).toBe(1);
    expect(await renewedBy(name, () => late(unsent))).toBe(0);
    for (let beats = 0; beats < 5; beats++) {
      expect(await nextBeat(next)).toMatchObject(ANSWER);
      await ringGateway(gateway);
    }
    expect(await shown(name)).toMatchObject({ transport: "socket", silentSince: null });
    expect(await historyOf(name, "silence")).toEqual([]);
  });
});
