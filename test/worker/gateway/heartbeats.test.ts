// Tests when the next heartbeat is due after a heartbeat that renewed nothing: before a second interval has passed.
import { describe, expect, it } from "vitest";
import type { LeasePut } from "../../../worker/gateway/lease.ts";
import {
  INTERVAL_MS,
  inGateway,
  type MadeUpGateway,
  type MachineSocket,
  until,
} from "../support/made-up-gateway.ts";

const FAILED: LeasePut = { kind: "failed", isAnswered: true, retryAfterMs: 0 };
const NO_ANSWER: LeasePut = { kind: "failed", isAnswered: false, retryAfterMs: 0 };
const [WHOLE, HALF, QUARTER] = [9600, 4800, 2400];

const nextInMs = (socket: MachineSocket): number => {
  const { last } = socket;
  if (last?.type !== "answer") throw new Error(`no answer: ${last?.type}`);
  return last.nextInMs;
};

describe("the next heartbeat after one", () => {
  it("that renewed the lease → after one interval", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      expect(nextInMs(socket)).toBe(WHOLE);
    }));

  it("whose PUT failed → after half an interval; after one again once a PUT succeeds", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onPut = () => Promise.resolve(FAILED);
      await made.beat(socket);
      expect(nextInMs(socket)).toBe(HALF);
      made.onPut = undefined;
      await made.beat(socket, { afterMs: nextInMs(socket) });
      expect([nextInMs(socket), made.puts.length]).toEqual([WHOLE, 2]);
    }));

  it.each([
    ["2 s", 2000, HALF - 2000],
    ["so long that it is due", 6000, 1000],
    ["the clock was put back by five minutes", -300_000, HALF],
  ])("whose PUT has failed after %s → that time is no part of the wait", (_, tookMs, expected) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onPut = () => {
        made.nowMs += tookMs;
        return Promise.resolve(NO_ANSWER);
      };
      await made.beat(socket);
      expect(nextInMs(socket)).toBe(expected);
    }),
  );

  it("without a PUT, since another machine's PUT failed → after a quarter", () =>
    inGateway(async (made) => {
      const [one, other] = [await made.connected("edge-1"), await made.connected("edge-2")];
      made.onPut = () => Promise.resolve(FAILED);
      await made.beat(one);
      await made.beat(other, { afterMs: 0 });
      expect([nextInMs(one), nextInMs(other), made.puts]).toEqual([HALF, QUARTER, ["edge-1"]]);
    }));

  it("of another machine, after the apiserver refused one machine's lease → nothing is suspended", () =>
    inGateway(async (made) => {
      const [one, other] = [await made.connected("edge-1"), await made.connected("edge-2")];
      made.onPut = (lease) =>
        Promise.resolve(
          lease.metadata?.name === "edge-1" ? { ...FAILED, isRefused: true } : made.write(lease),
        );
      for (const socket of [one, other, one, other]) await made.beat(socket, { afterMs: WHOLE });
      expect([nextInMs(one), nextInMs(other), made.puts]).toEqual([
        HALF,
        WHOLE,
        ["edge-1", "edge-2", "edge-1", "edge-2"],
      ]);
    }));

  it("without a PUT, since its own was recent → after a quarter if that failed, else after an interval", () =>
    inGateway(async (made) => {
      made.loan = { intervalMs: 4000 };
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await made.beat(socket, { afterMs: 4000 });
      expect([nextInMs(socket), made.puts.length]).toEqual([3840, 1]);
      made.onPut = () => Promise.resolve(FAILED);
      await made.beat(socket, { afterMs: 4000 });
      await made.beat(socket, { afterMs: 4000 });
      expect([nextInMs(socket), made.puts.length]).toEqual([1000, 2]);
    }));
});

describe("the apiserver is away for five seconds, with sixty machines", () => {
  it.each([
    ["it refuses at once", 0],
    ["each PUT waits for three seconds", 3000],
  ])(
    "%s → whenever it begins, no lease is renewed later than two intervals after the last time",
    (_, slowMs) =>
      inGateway(async (made) => {
        const longest = await longestBetween(made, { machines: 60, outages: 40, awayMs: 5000, slowMs });
        expect(longest).toBeLessThanOrEqual(2 * INTERVAL_MS);
      }),
  );
});

interface Story {
  machines: number;
  outages: number;
  awayMs: number;
  slowMs: number;
}

const turn = () => new Promise<void>((resolve) => void setTimeout(resolve));

/**
 * Returns the longest time between two renewals in milliseconds, while outages begin a minute apart. Each outage begins
 * at a different moment of the machines' intervals.
 */
async function longestBetween(made: MadeUpGateway, story: Story): Promise<number> {
  const startMs = made.nowMs;
  made.loan = { quietForMs: 2 * story.outages * 60_000 };
  const isAway = () => {
    const minute = Math.floor((made.nowMs - startMs) / 60_000);
    const inMinute = (made.nowMs - startMs) % 60_000;
    const fromMs = 20_000 + (minute * 10_000) / story.outages;
    return inMinute >= fromMs && inMinute < fromMs + story.awayMs;
  };
  const due: { atMs: number; happens: () => Promise<void> }[] = [];
  const renewed = new Map<string, number>();
  let longest = 0;
  made.live({
    timer: (ms, ring) => {
      const timer = {
        atMs: made.nowMs + ms,
        happens: () => {
          ring();
          return turn();
        },
      };
      due.push(timer);
      return () => void due.splice(due.indexOf(timer), due.includes(timer) ? 1 : 0);
    },
  });
  const beats = new Map<string, Promise<void>>();
  made.onPut = ({ metadata: { name = "" } = {} }) => {
    if (!isAway()) {
      longest = Math.max(longest, made.nowMs - (renewed.get(name) ?? made.nowMs));
      renewed.set(name, made.nowMs);
      return undefined;
    }
    if (story.slowMs === 0) return Promise.resolve(FAILED);
    const { promise, resolve } = Promise.withResolvers<LeasePut>();
    due.push({
      atMs: made.nowMs + story.slowMs,
      happens: async () => {
        resolve(NO_ANSWER);
        await beats.get(name);
      },
    });
    return promise;
  };
  const beat = async (socket: MachineSocket) => {
    const [begun, waiting] = [made.puts.length, made.waiting];
    let isOver = false;
    const beaten = made.beat(socket, { afterMs: 0 }).then(() => {
      isOver = true;
      due.push({ atMs: made.nowMs + nextInMs(socket), happens: () => beat(socket) });
    });
    beats.set(socket.name, beaten);
    // A PUT that the apiserver answers ends at once; the others end at a later time of the story.
    await until(() => isOver || made.waiting > waiting || (isAway() && made.puts.length > begun));
  };
  for (let index = 0; index < story.machines; index++) {
    const socket = await made.connected(`edge-${index}`);
    due.push({ atMs: made.nowMs + (index * 9600) / story.machines, happens: () => beat(socket) });
  }
  while (made.nowMs - startMs < story.outages * 60_000) {
    due.sort((one, other) => one.atMs - other.atMs);
    const next = due.shift();
    if (!next) throw new Error("nobody beats any more");
    made.nowMs = next.atMs;
    await next.happens();
  }
  return longest;
}
