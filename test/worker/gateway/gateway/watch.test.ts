// Tests how a gateway detects silence: missed heartbeats, a close without a handler call, and members without a
// socket after an eviction. The clock belongs to the test; the gateway sets the alarm.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../../shared/protocol/limits.ts";
import { WATCH_LIMITS } from "../../../../worker/gateway/gateway.ts";
import {
  INTERVAL_MS,
  inGateway,
  type MachineSocket,
  type MadeUpGateway,
} from "../../support/made-up-gateway.ts";

const SILENT_MS = GATEWAY_LIMITS.missedBeats * INTERVAL_MS;

describe("a machine that sends nothing", () => {
  it("for three heartbeats over a half-open socket → its object is notified, and the socket closed", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await made.pass(SILENT_MS - 1);
      expect(made.woken).toEqual(["edge-1 report"]);
      await made.pass(1);
      expect(made.asked[1]).toMatchObject({ what: "ended", returned: { epoch: 1, heardAgoMs: SILENT_MS } });
      expect(socket.last).toEqual({ type: "closing", reason: "silent", comeBackInMs: 0 });
      expect([made.members, made.alarmMs]).toEqual([[], null]);
    }));

  it("heartbeats and reports delay the end; the alarm rings rarely", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      let rings = 0;
      for (let beats = 0; beats < 30; beats++) {
        if (beats % 15 === 14) await made.report(socket);
        const before = made.alarmMs;
        await made.pass(INTERVAL_MS);
        if (made.alarmMs !== before) rings++;
        expect(await made.beat(socket, { afterMs: 0 })).toBe("answer");
      }
      expect(made.woken).toEqual(["edge-1 report", "edge-1 report", "edge-1 report"]);
      expect(rings).toBeLessThanOrEqual(15);
    }));

  it("a refused heartbeat delays nothing", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.pass(SILENT_MS - 1);
      expect(await made.beat(socket, { afterMs: 0, n: 9 })).toBe("again not fresh");
      await made.pass(1);
      expect(made.woken.at(-1)).toBe("edge-1 ended");
    }));

  it("each machine by its own interval", () =>
    inGateway(async (made) => {
      made.loan = { intervalMs: 60_000, leaseMs: 240_000 };
      await made.connected("slow");
      made.loan = {};
      await made.connected("quick");
      await made.pass(SILENT_MS);
      expect(made.woken.slice(2)).toEqual(["quick ended"]);
      await made.pass(180_000 - SILENT_MS);
      expect(made.woken.slice(3)).toEqual(["slow ended"]);
    }));

  it("with an interval of a second → its object is notified after three seconds", () =>
    inGateway(async (made) => {
      made.loan = { intervalMs: 1000, leaseMs: 4000 };
      await made.connected("edge-1");
      await made.pass(3000);
      expect(made.woken.at(-1)).toBe("edge-1 ended");
    }));

  it("without a loan: after its report interval and ten seconds at most", () =>
    inGateway(async (made) => {
      made.onReport = ({ request: { name } }) =>
        Promise.resolve({
          answer: {
            ok: true,
            value: {
              phase: "registered",
              ready: true,
              ticket: "t",
              reportInMs: name === "soon" ? 1000 : 20_000,
            },
          },
          lent: null,
        });
      await made.connected("soon");
      await made.connected("later");
      await made.pass(30_000);
      expect(made.woken.slice(2)).toEqual(["soon ended"]);
      await made.pass(30_000);
      expect(made.woken.slice(3)).toEqual(["later ended"]);
    }));

  it("a report in progress counts as contact", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const { promise, resolve } = Promise.withResolvers<void>();
      made.onReport = async ({ request: { name } }) => {
        await promise;
        return made.lent(name);
      };
      await made.pass(SILENT_MS - 5000);
      const reported = made.report(socket);
      await made.untilWoken(2);
      await made.pass(6000);
      resolve();
      await reported;
      await made.pass(1000);
      expect([socket.said.at(-1), made.woken.length]).toEqual(["report-answer 200", 2]);
    }));

  it("a clock that is set back → counts as contact", () =>
    inGateway(async (made) => {
      await made.connected("edge-1");
      made.nowMs -= 3_600_000;
      made.alarmMs = made.nowMs;
      await made.pass(SILENT_MS);
      expect(made.woken.at(-1)).toBe("edge-1 ended");
    }));
});

describe("a socket whose close calls no handler", () => {
  it("→ found like a silent machine", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.sockets.splice(made.sockets.indexOf(socket), 1);
      await made.pass(WATCH_LIMITS.checkMs);
      expect(made.asked[1]).toMatchObject({ what: "ended", returned: { epoch: 1 } });
    }));

  it("the machine's next socket replaces it → nothing ends", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.sockets.splice(made.sockets.indexOf(socket), 1);
      const next = await made.connected("edge-1");
      for (let beats = 0; beats < 6; beats++) {
        await made.pass(INTERVAL_MS);
        expect(await made.beat(next, { afterMs: 0 })).toBe("answer");
      }
      expect(made.woken).toEqual(["edge-1 report", "edge-1 report"]);
    }));
});

describe("after an eviction", () => {
  async function connected(made: MadeUpGateway, count: number) {
    for (let index = 0; index < count; index++) await made.connected(`edge-${index}`);
  }

  it("members that never return → all objects are notified, fifty a second", () =>
    inGateway(async (made) => {
      await connected(made, 120);
      made.sockets.length = 0;
      made.evict();
      made.asked.length = 0;
      const ms = (made.alarmMs ?? Infinity) - made.nowMs;
      expect(ms).toBeLessThanOrEqual(WATCH_LIMITS.checkMs);
      await made.pass(ms);
      expect(made.asked.length).toBe(50);
      await made.pass(WATCH_LIMITS.turnMs);
      expect(made.asked.length).toBe(100);
      await made.pass(WATCH_LIMITS.turnMs);
      expect(made.asked).toEqual(
        Array.from({ length: 120 }, () => expect.objectContaining({ what: "ended", returned: null })),
      );
      expect(new Set(made.woken).size).toBe(120);
      expect([made.members, made.alarmMs]).toEqual([[], null]);
    }));

  it("members with open sockets have three intervals from their last contact, through any number of evictions", () =>
    inGateway(async (made) => {
      await connected(made, 2);
      const [socket] = made.sockets;
      await made.beat(socket!);
      made.evict();
      made.asked.length = 0;
      // The alarm wakes the gateway, and nothing keeps the gateway awake afterwards.
      await made.pass(SILENT_MS - INTERVAL_MS);
      expect(made.asked).toMatchObject([{ name: "edge-1", what: "ended", returned: null }]);
      made.evict();
      await made.pass(INTERVAL_MS - 1);
      expect(made.asked.length).toBe(1);
      await made.pass(1);
      expect(made.asked[1]).toMatchObject({ name: "edge-0", what: "ended", returned: null });
    }));

  it("a clock that is set back → three intervals from the present time", () =>
    inGateway(async (made) => {
      await connected(made, 1);
      made.nowMs -= 3_600_000;
      made.alarmMs = made.nowMs;
      await made.pass(0);
      made.evict();
      await made.pass(SILENT_MS);
      expect(made.woken.at(-1)).toBe("edge-0 ended");
    }));

  it("longer intervals are respected, and a machine that reports again stays", () =>
    inGateway(async (made) => {
      made.loan = { intervalMs: 60_000, leaseMs: 240_000 };
      const [stays, goes] = [await made.connected("stays"), await made.connected("goes")];
      made.evict();
      await made.pass(100_000);
      await made.report(stays);
      await made.pass(80_000);
      expect(made.woken.slice(2)).toEqual(["stays report", "goes ended"]);
      expect(goes.said.at(-1)).toBe("closing silent");
    }));

  it("care() sets a lost alarm again, only if there is a member", () =>
    inGateway(async (made) => {
      await made.gateway.care();
      expect(made.alarmMs).toBeNull();
      await connected(made, 1);
      made.sockets.length = 0;
      made.evict();
      made.alarmMs = null;
      await made.gateway.care();
      await made.pass(WATCH_LIMITS.checkMs);
      expect(made.woken.at(-1)).toBe("edge-0 ended");
    }));
});

it("the watch fails → logged, and the alarm rings again at the next check", () =>
  inGateway(async (made) => {
    await made.connected("edge-1");
    made.sockets.filter = () => {
      throw new Error("reset");
    };
    await made.gateway.ring();
    expect(made.alarmMs).toBe(made.nowMs + WATCH_LIMITS.checkMs);
    expect(made.log).toMatchObject([{ message: "the watch of a gateway failed" }]);
  }));

describe("objects that cannot be reached", () => {
  it("delay no other notification, and are notified later", () =>
    inGateway(async (made) => {
      for (let index = 0; index < 60; index++) await made.connected(`edge-${index}`);
      made.onEnded = (name) =>
        Number(name.slice(5)) < 50 ? Promise.reject(new Error("reset")) : Promise.resolve();
      made.sockets.length = 0;
      made.evict();
      made.alarmMs = made.nowMs;
      await made.pass(WATCH_LIMITS.turnMs + 1);
      expect(made.members.length).toBe(50);
      made.onEnded = undefined;
      await made.pass(WATCH_LIMITS.checkMs);
      expect(made.members).toEqual([]);
    }));

  it("a clock that is set back → they are notified at the next turn", () =>
    inGateway(async (made) => {
      await made.connected("edge-1");
      made.onEnded = () => Promise.reject(new Error("reset"));
      made.sockets.length = 0;
      made.alarmMs = made.nowMs;
      await made.pass(1);
      expect(made.members).toEqual(["edge-1"]);
      made.onEnded = undefined;
      made.nowMs -= 3_600_000;
      made.alarmMs = made.nowMs;
      await made.pass(1);
      expect(made.members).toEqual([]);
    }));
});

describe("a socket without an accepted report", () => {
  it("is closed after ten seconds, and the machine's next one is accepted: a thief may have opened the first", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      await made.pass(1000 * GATEWAY_LIMITS.unacceptedSeconds - 1);
      expect(socket.said).toEqual([]);
      await made.pass(1);
      expect(socket.last).toEqual({ type: "closing", reason: "no report", comeBackInMs: 60_000 });
      expect([made.asked, made.members, made.alarmMs]).toEqual([[], [], null]);
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("of each of several members whose objects do not answer → all are closed at once", () =>
    inGateway(async (made) => {
      const names = ["edge-1", "edge-2", "edge-3"];
      for (const name of names) await made.connected(name);
      made.sockets.length = 0;
      made.evict();
      made.onEnded = () => new Promise(() => undefined);
      const sockets: MachineSocket[] = [];
      for (const name of names) sockets.push(await made.opened(name));
      void made.pass(1000 * GATEWAY_LIMITS.unacceptedSeconds);
      await made.untilWoken(2 * names.length);
      expect(made.woken.slice(names.length)).toEqual(names.map((name) => `${name} ended`));
      expect(sockets.map(({ said }) => said)).toEqual(names.map(() => ["closing no report"]));
    }));

  it("is closed at its next frame if the alarm is late", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.nowMs += 1000 * GATEWAY_LIMITS.unacceptedSeconds;
      await made.report(socket);
      expect([socket.said, made.asked]).toEqual([["closing no report"], []]);
    }));

  it("is closed at its next frame if the clock is put back: no clock may extend its time", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.nowMs -= 1;
      await made.report(socket);
      expect([socket.said, made.asked]).toEqual([["closing no report"], []]);
    }));

  it("a refused report does not extend its time; a report in progress may still be accepted", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      const { promise, resolve } = Promise.withResolvers<void>();
      made.onReport = async ({ request: { name } }) => {
        await promise;
        return made.lent(name);
      };
      await made.pass(9000);
      const reported = made.report(socket);
      await made.untilWoken(1);
      await made.pass(5000);
      resolve();
      await reported;
      await made.pass(5000);
      expect(socket.said).toEqual(["report-answer 200"]);
    }));

  it("is closed after an eviction as well", () =>
    inGateway(async (made) => {
      const socket = await made.opened("edge-1");
      made.evict();
      await made.pass(1000 * GATEWAY_LIMITS.unacceptedSeconds);
      expect(socket.said).toEqual(["closing no report"]);
    }));
});
