// Tests heartbeats and reports that are not the machine's next ones: replayed, delayed, or of another machine or
// session. None renews a lease.
import { describe, expect, it } from "vitest";
import { requestsAbout, setFault } from "../../worker/support/machine.ts";
import {
  asked,
  BEAT_MS,
  GET_LEASE,
  LEASE_MS,
  lentBy,
  nextBeat,
  type OnSocket,
  onSocket,
  PUT_LEASE,
  renewedBy,
  slug,
} from "./on-socket.ts";
import { shift } from "../../worker/support/clock.ts";

const NOT_FRESH = { type: "again", reason: "not fresh" };
const OVER = { type: "again", reason: "over" };
const ANSWER = { type: "answer" };

describe("a heartbeat", () => {
  it.each<[situation: string, frame: (of: OnSocket) => Promise<string>]>([
    [
      "that was sent before",
      async ({ socket }) => {
        const frame = await socket.heartbeat();
        // The heartbeat is signed again with the same content.
        expect(await socket.beat()).toMatchObject(ANSWER);
        return frame;
      },
    ],
    ["with the n of the last one", async ({ socket }) => socket.heartbeat({ n: socket.session!.n })],
    ["with an n that leaves one out", async ({ socket }) => socket.heartbeat({ n: socket.session!.n + 2 })],
    [
      "of another machine of this gateway",
      async ({ gateway }) => (await onSocket("stale-neighbour-1", gateway)).socket.heartbeat(),
    ],
    [
      "with another machine's MAC over this nonce",
      async ({ socket, gateway }) => {
        const { key } = (await onSocket("stale-neighbour-2", gateway)).socket.session!;
        return socket.heartbeat({ session: { ...socket.session!, key } });
      },
    ],
    [
      "of the session before, on the same socket",
      async ({ socket }) => {
        const session = { ...socket.session! };
        await lentBy(socket);
        return socket.heartbeat({ session });
      },
    ],
    [
      "with the key of the session before, over this nonce",
      async ({ socket }) => {
        const { key } = socket.session!;
        await lentBy(socket);
        return socket.heartbeat({ session: { ...socket.session!, key } });
      },
    ],
    [
      "over the nonce of the answer before",
      async ({ socket }) => {
        const { nonce } = socket.session!;
        expect(await nextBeat(socket)).toMatchObject(ANSWER);
        return socket.heartbeat({ nonce });
      },
    ],
    [
      "with changed amounts",
      async ({ socket }) => (await socket.heartbeat()).replace('"available":[', '"available":[1'),
    ],
  ])("%s → renews nothing; the report that follows does", async (situation, frameFor) => {
    const machine = await onSocket(slug("stale", situation));
    const { name, socket } = machine;
    expect(await nextBeat(socket)).toMatchObject(ANSWER);
    shift(BEAT_MS);
    const frame = await frameFor(machine);
    shift(BEAT_MS);
    await requestsAbout(name);
    socket.sendText(frame);
    expect(await socket.next()).toEqual(NOT_FRESH);
    expect(await socket.beat()).toEqual(OVER);
    expect(await requestsAbout(name)).toEqual([]);
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
  });

  it("of an earlier session, after a reconnect → renews nothing", async () => {
    const { name, machine, socket } = await onSocket("stale-reconnected");
    expect(await nextBeat(socket)).toMatchObject(ANSWER);
    const session = { ...socket.session! };
    const before = await socket.heartbeat();
    socket.close();
    shift(BEAT_MS);
    await machine.http();
    const next = await machine.connect();
    await lentBy(next);
    shift(BEAT_MS);
    const renewed = await renewedBy(name, async () => {
      next.sendText(before);
      expect(await next.next()).toEqual(NOT_FRESH);
      expect(await next.beat({ session: { ...session, nonce: next.session!.nonce } })).toEqual(NOT_FRESH);
    });
    expect(renewed).toBe(0);
  });
});

describe("a proxy that delays", () => {
  it("thirty heartbeats, and delivers one every ten seconds → none renews after a lease duration; reports over HTTP do", async () => {
    const { name, machine, socket } = await onSocket("hoarded-beats");
    const hoarded: string[] = [];
    const signedMs = Date.now();
    for (let n = 1; n <= 30; n++) hoarded.push(await socket.heartbeat({ n, at: signedMs + n * BEAT_MS }));
    const deliver = async () => {
      shift(BEAT_MS);
      const frame = hoarded.shift()!;
      if (!socket.closed) socket.sendText(frame);
      return socket.next();
    };
    // The first delivery is fresh; the second one has a used nonce.
    expect(await renewedBy(name, deliver)).toBe(1);
    expect(await renewedBy(name, async () => expect(await deliver()).toEqual(NOT_FRESH))).toBe(0);
    while (Date.now() - signedMs <= LEASE_MS) await deliver();
    expect(
      await renewedBy(name, async () => {
        while (hoarded.length > 0) await deliver();
      }),
    ).toBe(0);
    expect(socket.frames.at(-1)).toMatchObject({ type: "closing", reason: "too often" });
    expect(await renewedBy(name, () => machine.http())).toBe(1);
  });

  it("the heartbeat in progress, for less than a lease duration → it counts; for longer → not", async () => {
    for (const [moreMs, answer, renewals] of [
      [-1, ANSWER, 1],
      [0, OVER, 0],
      [1, NOT_FRESH, 0],
    ] as const) {
      const { name, socket } = await onSocket(`hoarded-beat-${moreMs}`);
      const frame = await socket.heartbeat({ at: Date.now() + LEASE_MS });
      shift(LEASE_MS + moreMs);
      const renewed = await renewedBy(name, async () => {
        socket.sendText(frame);
        expect(await socket.next()).toMatchObject(answer);
      });
      expect([moreMs, renewed]).toEqual([moreMs, renewals]);
    }
  });

  it("a report, for more than a lease duration → gets a challenge, and renews nothing", async () => {
    const { name, socket } = await onSocket("hoarded-report");
    const frame = await socket.reportFrame();
    shift(LEASE_MS + 1);
    const renewed = await renewedBy(name, async () => {
      socket.sendText(frame);
      expect(await socket.next()).toMatchObject({
        type: "report-answer",
        status: 409,
        body: { reason: "ticket-stale" },
      });
    });
    expect(renewed).toBe(0);
    expect(socket.frames.at(-1)).not.toHaveProperty("session");
  });

  it("a report, until the machine has reported over HTTP → the same result", async () => {
    const { name, machine, socket } = await onSocket("hoarded-report-http");
    const frame = await socket.reportFrame();
    shift(BEAT_MS);
    await machine.http();
    shift(BEAT_MS);
    const renewed = await renewedBy(name, async () => {
      socket.sendText(frame);
      expect(await socket.next()).toMatchObject({ type: "report-answer", status: 409 });
    });
    expect(renewed).toBe(0);
  });

  it("a report, until the machine has another socket, and sends it there → 401", async () => {
    const { name, machine, socket } = await onSocket("hoarded-report-socket");
    const frame = await socket.reportFrame();
    socket.close();
    await machine.http();
    const next = await machine.connect();
    await lentBy(next);
    const renewed = await renewedBy(name, async () => {
      next.sendText(frame);
      expect(await next.next()).toMatchObject({
        type: "report-answer",
        status: 401,
        body: { reason: "unauthenticated" },
      });
    });
    expect(renewed).toBe(0);
  });

  it("a report of a socket, and sends it over HTTP → 401; one of HTTP over the socket → 401", async () => {
    const { name, machine, socket } = await onSocket("report-of-another-transport");
    const renewed = await renewedBy(name, async () => {
      expect(await machine.post(await socket.signed())).toMatchObject({ status: 401 });
      socket.sendText(JSON.stringify({ type: "report", ...(await machine.signed()) }));
      expect(await socket.next()).toMatchObject({ type: "report-answer", status: 401 });
    });
    expect(renewed).toBe(0);
  });
});

describe("a heartbeat and a full report at once", () => {
  it("the heartbeat arrives during the report → again, and the lease is renewed once", async () => {
    const { name, socket } = await onSocket("beat-during-report");
    shift(BEAT_MS);
    const beat = await socket.heartbeat();
    const renewed = await renewedBy(name, async () => {
      await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
      socket.sendText(await socket.reportFrame());
      await asked(name, /^PUT/m);
      socket.sendText(beat);
      expect(await socket.next()).toEqual(OVER);
      await setFault(name, "");
      expect(await socket.answered()).toMatchObject({ status: 200, session: {} });
    });
    expect(renewed).toBe(1);
    expect(await nextBeat(socket)).toMatchObject(ANSWER);
  });

  it("the report arrives during the heartbeat's PUT → both renew, one after the other, and the lease is not read", async () => {
    const { name, socket } = await onSocket("report-during-beat");
    shift(BEAT_MS);
    const [beat, report] = [await socket.heartbeat(), await socket.reportFrame()];
    await requestsAbout(name);
    const renewed = await renewedBy(name, async () => {
      await setFault(name, { kind: "answers late", of: PUT_LEASE, times: 1 });
      socket.sendText(beat);
      await asked(name, /^PUT/m);
      socket.sendText(report);
      await setFault(name, "");
      expect(await socket.next()).toMatchObject(ANSWER);
      await socket.answered();
    });
    expect(renewed).toBe(2);
    expect((await requestsAbout(name)).filter((request) => GET_LEASE.test(request))).toEqual([]);
    expect(await nextBeat(socket)).toMatchObject(ANSWER);
  });
});
