// Tests which sockets a gateway allows to be opened.
import { describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../../shared/protocol/limits.ts";
import { randomOf } from "../../../lab/hostile/random.ts";
import { inGateway, type MadeUpGateway } from "../../support/made-up-gateway.ts";

describe("a connect ticket", () => {
  it("opens one socket", () =>
    inGateway(async (made) => {
      expect(await made.open("edge-1", "a")).not.toBeTypeOf("string");
      expect(await made.open("edge-1", "a")).toBe("used ticket");
      expect(await made.open("edge-1", "b")).not.toBeTypeOf("string");
    }));

  it("is also used up by a refusal", () =>
    inGateway(async (made) => {
      made.size = 0;
      expect(await made.open("edge-1", "a")).toBe("full");
      expect(await made.open("edge-1", "a")).toBe("used ticket");
    }));

  it("is remembered for as long as it is valid", () =>
    inGateway(async (made) => {
      await made.open("edge-1", "a");
      await made.pass(1000 * GATEWAY_LIMITS.ticketSeconds);
      expect(await made.open("edge-1", "a")).toBe("used ticket");
    }));
});

/** Lets the machines close the sockets that the gateway has closed, as a shim does. */
async function closesClosed(made: MadeUpGateway): Promise<void> {
  for (const socket of made.sockets.filter(({ readyState }) => readyState !== 1)) await made.lose(socket);
}

describe("sockets that the platform keeps, each with a begun message of up to 32 MiB", () => {
  const { socketsOfName, pendingOfNetwork } = GATEWAY_LIMITS;

  it("of one name, which does not close those that the gateway has closed → up to the limit, and no more", () =>
    inGateway(async (made) => {
      for (let sockets = 0; sockets < socketsOfName; sockets++) await made.opened("edge-1");
      expect(await made.open("edge-1")).toBe("sent away 60");
      await made.pass(3_600_000);
      made.evict();
      expect(await made.open("edge-1")).toBe("sent away 60");
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
      await closesClosed(made);
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("of one network, without a report or closed → up to the limit; accepted ones and other networks do not count", () =>
    inGateway(async (made) => {
      await made.connected("edge-0");
      const openFrom = (address: string, at: number) => made.open(`edge-${at}`, undefined, address);
      for (let at = 1; at <= pendingOfNetwork; at++)
        expect(await openFrom(`2001:db8::${at}`, at)).not.toBeTypeOf("string");
      expect(await openFrom("2001:db8::ffff", 98)).toBe("sent away 10");
      expect(await openFrom("2001:db8:0:1::1", 98)).not.toBeTypeOf("string");
      const [, first] = made.sockets;
      await made.report(first!);
      expect(await openFrom("2001:db8::ffff", 99)).not.toBeTypeOf("string");
    }));
});

describe("a site whose machines share one address, and start at the same time", () => {
  /** Milliseconds until the machine's next report by HTTP, whose answer has another path. */
  const NEXT_REPORT_MS = 9600;

  /**
   * Lets the machines open their sockets within the time that an offer names. A refused machine asks again after its
   * wait. Returns the time until all have a socket with an accepted report, and the most refusals of one machine.
   */
  async function returnOf(made: MadeUpGateway, machines: number, acceptedAfterMs: number) {
    const { int } = randomOf(3, 0);
    const random = (made.random = () => int(1e9) / 1e9);
    const startMs = made.nowMs;
    const refusals = new Map<string, number>();
    const due = Array.from({ length: machines }, (_, at) => ({
      atMs: startMs + random() * GATEWAY_LIMITS.comeBackMs,
      run: () => open(`edge-${at}`),
    }));
    const later = (ms: number, run: () => Promise<void>) => void due.push({ atMs: made.nowMs + ms, run });
    async function open(name: string): Promise<void> {
      const opened = await made.open(name);
      if (typeof opened !== "string") return later(acceptedAfterMs, () => made.report(opened));
      const [, seconds] = /^sent away (\d+)$/.exec(opened) ?? [];
      refusals.set(name, (refusals.get(name) ?? 0) + 1);
      const offerMs = random() * (NEXT_REPORT_MS + GATEWAY_LIMITS.comeBackMs);
      return later(1000 * Number(seconds) + offerMs, () => open(name));
    }
    while (made.members.length < machines) {
      due.sort((a, b) => a.atMs - b.atMs);
      const next = due.shift()!;
      made.nowMs = next.atMs;
      await next.run();
    }
    return { seconds: (made.nowMs - startMs) / 1000, refusals: Math.max(0, ...refusals.values()) };
  }

  it.each<[machines: number, acceptedAfterMs: number, seconds: number, refusals: number]>([
    [64, 5000, 10, 0],
    [500, 300, 10, 0],
    [200, 2000, 40, 1],
    [500, 1000, 40, 1],
    [500, 2000, 40, 1],
  ])(
    "%i machines, reports accepted after %i ms → all on sockets within %i s, at most %i refusals of one machine",
    (machines, acceptedAfterMs, seconds, refusals) =>
      inGateway(async (made) => {
        const found = await returnOf(made, machines, acceptedAfterMs);
        expect(found.seconds).toBeLessThanOrEqual(seconds);
        expect(found.refusals).toBeLessThanOrEqual(refusals);
      }),
  );
});

describe("sockets of one name without an accepted report", () => {
  it("up to the limit → all stay", () =>
    inGateway(async (made) => {
      for (let sockets = 0; sockets < GATEWAY_LIMITS.unacceptedOfName; sockets++) await made.opened("edge-1");
      expect(made.sockets.flatMap(({ said }) => said)).toEqual([]);
    }));

  it("one more → the oldest is closed; an accepted one does not count", () =>
    inGateway(async (made) => {
      const accepted = await made.connected("edge-1");
      const opened = [];
      for (let sockets = 0; sockets <= GATEWAY_LIMITS.unacceptedOfName; sockets++) {
        // The platform returns sockets in any order.
        made.sockets.reverse();
        made.nowMs++;
        opened.push(await made.opened("edge-1"));
      }
      const [oldest, ...others] = opened;
      expect(oldest?.said).toEqual(["closing replaced"]);
      expect(others.flatMap(({ said }) => said)).toEqual([]);
      expect(accepted.said).toEqual(["report-answer 200"]);
    }));
});

describe("sockets that one name opens", () => {
  const { upgradesAMinute } = GATEWAY_LIMITS;

  async function opensAll(made: MadeUpGateway): Promise<void> {
    for (let sockets = 0; sockets < upgradesAMinute; sockets++) {
      await made.opened("edge-1");
      await closesClosed(made);
    }
  }

  it("up to the limit at once, also if the gateway has closed them; another name's do not count", () =>
    inGateway(async (made) => {
      await opensAll(made);
      expect(made.sockets.filter(({ readyState }) => readyState === 1)).toHaveLength(
        GATEWAY_LIMITS.unacceptedOfName,
      );
      expect(await made.open("edge-1")).toBe("sent away 3");
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
    }));

  it.each([
    ["just before its time", 60_000 / upgradesAMinute - 1, "sent away 1"],
    ["at its time", 60_000 / upgradesAMinute, undefined],
  ])("the next one %s; who is refused waits no longer for it", (_, afterMs, refusal) =>
    inGateway(async (made) => {
      await opensAll(made);
      made.nowMs += 1000;
      expect(await made.open("edge-1")).toBe("sent away 2");
      made.nowMs += afterMs - 1000;
      const opened = await made.open("edge-1");
      expect(typeof opened === "string" ? opened : undefined).toBe(refusal);
    }),
  );

  it("a clock that is set back → no machine waits longer", () =>
    inGateway(async (made) => {
      await opensAll(made);
      made.nowMs -= 3_600_000;
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("the full number again after a minute, in which the alarm rang", () =>
    inGateway(async (made) => {
      await opensAll(made);
      await made.pass(30_000);
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
      await made.pass(60_000);
      await opensAll(made);
      expect(await made.open("edge-1")).toBe("sent away 3");
    }));
});

describe("a gateway's size", () => {
  it("up to the limit; a member may always open another socket", () =>
    inGateway(async (made) => {
      made.size = 2;
      await made.connected("edge-1");
      await made.connected("edge-2");
      expect(await made.open("edge-3")).toBe("full");
      expect(await made.open("edge-1")).not.toBeTypeOf("string");
    }));

  it("a machine without a report yet takes a place", () =>
    inGateway(async (made) => {
      made.size = 2;
      await made.connected("edge-1");
      await made.opened("edge-2");
      expect(await made.open("edge-3")).toBe("full");
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
    }));

  it("the place of a machine that ended is free; members count after an eviction as well", () =>
    inGateway(async (made) => {
      made.size = 1;
      const socket = await made.connected("edge-1");
      made.evict();
      expect(await made.open("edge-2")).toBe("full");
      await made.lose(socket);
      expect(await made.open("edge-2")).not.toBeTypeOf("string");
    }));
});
