// Tests an evicted gateway, which has lost its loans and answers heartbeats with `again`. A full report follows, and
// each lease is renewed in time.
import { describe, expect, it } from "vitest";
import { requestsAbout, setFault } from "../../worker/support/machine.ts";
import {
  asked,
  crashGateway,
  evictGateway,
  expectInTime,
  GET_LEASE,
  lentBy,
  nextBeat,
  nodeOf,
  onSocket,
  PUT_LEASE,
  renewedBy,
} from "./on-socket.ts";

const READY = { status: 200, answer: { phase: "registered", ready: true } };
/**
 * The number of heartbeats in a test: few enough to end before the first status write. That write is due 150 seconds or
 * more after the registration.
 */
const BEATS = 10;
const NO_SESSION = { type: "again", reason: "no session" };

describe("an evicted gateway", () => {
  it("between two heartbeats → again; the report that follows renews instead, and the Node is unchanged", async () => {
    const { name, socket, gateway } = await onSocket("evicted-between-beats");
    const before = await nodeOf(name);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
    await evictGateway(gateway);
    expect(await renewedBy(name, async () => expect(await nextBeat(socket)).toEqual(NO_SESSION))).toBe(0);
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
    expect(await renewedBy(name, () => nextBeat(socket))).toBe(1);
    expect(await nodeOf(name)).toEqual(before);
    await expectInTime(name);
  });

  it("between a loan and its first heartbeat → the same result", async () => {
    const { name, socket, gateway } = await onSocket("evicted-before-first-beat");
    const before = await nodeOf(name);
    await evictGateway(gateway);
    await requestsAbout(name);
    expect(await nextBeat(socket)).toEqual(NO_SESSION);
    expect(await requestsAbout(name)).toEqual([]);
    expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
    // The node object reads the lease once: after lending it, the object does not know the lease's resourceVersion.
    expect((await requestsAbout(name)).filter((request) => GET_LEASE.test(request))).toHaveLength(1);
    expect(await nodeOf(name)).toEqual(before);
    await expectInTime(name);
  });

  it("after each heartbeat and report, until the status is due → every lease in time, and no event", async () => {
    const { name, socket, gateway } = await onSocket("gateway-evicted-always");
    const before = await nodeOf(name);
    await requestsAbout(name);
    const renewed = await renewedBy(name, async () => {
      for (let beats = 0; beats < BEATS; beats++) {
        await evictGateway(gateway);
        expect(await nextBeat(socket)).toEqual(NO_SESSION);
        await evictGateway(gateway);
        await lentBy(socket);
      }
    });
    expect(renewed).toBe(BEATS);
    expect(await nodeOf(name)).toEqual(before);
    expect((await requestsAbout(name)).filter((request) => /^(POST|PATCH)/.test(request))).toEqual([]);
    await expectInTime(name);
  });

  it.each([
    ["that had no effect", "hangs"],
    ["that took effect", "hangs after its effect"],
  ] as const)(
    "during a PUT %s → its heartbeat is answered first, and the next one gets `again`",
    async (what, kind) => {
      const { name, socket, gateway } = await onSocket(`evicted-during-a-put-${what.replaceAll(" ", "-")}`);
      const before = await nodeOf(name);
      await setFault(name, { kind, of: PUT_LEASE, times: 1 });
      const beat = nextBeat(socket);
      await asked(name, /^PUT/m);
      const evicted = evictGateway(gateway);
      await setFault(name, "");
      await evicted;
      expect(await beat).toMatchObject({ type: "answer", n: 1 });
      expect(await nextBeat(socket)).toEqual(NO_SESSION);
      expect(await renewedBy(name, () => lentBy(socket))).toBe(1);
      expect(await nodeOf(name)).toEqual(before);
      await expectInTime(name);
    },
  );
});

describe("a gateway that is aborted, together with its sockets", () => {
  it.each([
    ["has no effect", "hangs"],
    ["takes effect without an answer", "hangs after its effect"],
  ] as const)("during a PUT that %s → the machine's next report renews, by HTTP", async (what, kind) => {
    const { name, machine, socket, gateway } = await onSocket(`crashed-${what.replaceAll(/[ ,]+/g, "-")}`);
    const before = await nodeOf(name);
    await setFault(name, { kind, of: PUT_LEASE, times: 1 });
    const beat = nextBeat(socket);
    await asked(name, /^PUT/m);
    await crashGateway(gateway);
    await setFault(name, "");
    expect(await beat).toBe("closed");
    expect(await machine.http()).toMatchObject(READY);
    expect(await nodeOf(name)).toEqual(before);
    await expectInTime(name);
    expect(await renewedBy(name, async () => lentBy(await machine.connect()))).toBe(1);
  });

  it("after a PUT that takes effect after a read of the lease → the object reads it again, and its own PUT counts", async () => {
    const { name, machine, socket, gateway } = await onSocket("crashed-before-a-late-put");
    const before = await nodeOf(name);
    await setFault(name, { kind: "effect comes late", of: PUT_LEASE, times: 1 });
    expect(await nextBeat(socket)).toMatchObject({ type: "answer" });
    await crashGateway(gateway);
    expect(await renewedBy(name, () => machine.http())).toBe(2);
    expect(await nodeOf(name)).toEqual(before);
    await expectInTime(name);
  });
});
