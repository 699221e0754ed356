// Tests when an isolate counts as busy, and what its gateways do then: answer all machines, renew leases as they can,
// and blame neither the apiserver nor a machine.
import { describe, expect, it, test } from "vitest";
import { WATCH_LIMITS } from "../../../worker/gateway/gateway.ts";
import { Lateness, LATENESS_FROM, WHILE_BUSY } from "../../../worker/gateway/lateness.ts";
import type { LeasePut } from "../../../worker/gateway/lease.ts";
import { PUTS_AT_ONCE } from "../../../worker/gateway/renewals.ts";
import {
  INTERVAL_MS,
  inGateway,
  LEASE_MS,
  type MachineSocket,
  type MadeUpGateway,
  QUIET,
  START_MS,
  until,
} from "../support/made-up-gateway.ts";

/** Returns the lateness after heartbeats with these delays, and after `laterMs`. */
function latenessAfter(delaysMs: readonly number[], laterMs = 0): Lateness {
  let nowMs = START_MS;
  const lateness = new Lateness(() => nowMs);
  for (const delayMs of delaysMs) lateness.note(delayMs);
  nowMs += laterMs;
  return lateness;
}

const of = (count: number, delayMs: number) => Array.from({ length: count }, () => delayMs);

test.each<[situation: string, latenessMs: number, delaysMs: number[], laterMs?: number]>([
  ["no heartbeat", 0, []],
  ["too few heartbeats", 0, of(20, 5000)],
  ["heartbeats on time", 0, of(100, 50)],
  ["at the limit", 1000, of(100, 1000)],
  ["just below the limit", 0, of(100, 999)],
  ["all late", 4000, of(21, 4000)],
  ["at the most that counts", 20_000, of(21, 20_000)],
  ["all later than that, as of many machines with wrong clocks", 20_000, of(21, 20_001)],
  ["ten of 21 late, as of machines with wrong clocks", 0, [...of(11, 0), ...of(10, 20_000)]],
  ["late until 21 heartbeats ago", 4000, [...of(21, 4000), ...of(21, 0)]],
  ["late until ten seconds ago", 2000, of(21, 4000), 10_000],
  ["late until twenty-one seconds ago", 0, of(21, 4000), 21_000],
  ["the clock was put back meanwhile", 2000, of(21, 4000), -10_000],
])("%s → a lateness of %d ms", (_, latenessMs, delaysMs, laterMs) => {
  expect(Math.round(latenessAfter(delaysMs, laterMs).ms)).toBe(latenessMs);
});

test.each<[situation: string, calmMs: number, delaysMs: number[], laterMs: number]>([
  ["late", 0, of(21, 4000), 0],
  ["late until a minute ago: leases are still to be renewed", 0, of(21, 4000), 60_000],
  ["late until a little more than a minute ago", 1, of(21, 4000), 60_001],
  ["late, by a clock that was put back by more than a minute", 1, of(21, 4000), -60_001],
  ["never late", Infinity, of(100, 999), 0],
])("an isolate that was %s → not busy since %d ms", (_, calmMs, delaysMs, laterMs) => {
  expect(latenessAfter(delaysMs, laterMs).calmMs).toBe(calmMs);
});

test.each([
  ["fewer machines than the limit", LATENESS_FROM - 1, 0],
  ["as many machines as the limit", LATENESS_FROM, 1],
])("a gateway with %s → notes the delays of heartbeats: %#", (_, count, times) =>
  inGateway(async (made) => {
    const noted: number[] = [];
    made.live({
      lateness: { ms: 0, calmMs: Infinity, note: (delayMs) => void noted.push(delayMs) },
    });
    const sockets: MachineSocket[] = [];
    for (let at = 0; at < count; at++) sockets.push(await made.connected(`edge-${at}`));
    await made.beat(sockets[0]!);
    expect(noted).toEqual(Array.from({ length: times }, () => 0));
  }),
);

const LATE_MS = 4000;
const busy = (made: MadeUpGateway) =>
  made.live({ lateness: { ms: LATE_MS, calmMs: 0, note: () => undefined } });
const nextInMs = ({ last }: MachineSocket) => (last?.type === "answer" ? last.nextInMs : last?.type);
const LONGEST_MS = WHILE_BUSY.heartbeat * LEASE_MS;
/** The time until the next heartbeat for the random number of these tests. */
const USUAL_MS = (1 - WHILE_BUSY.spread / 2) * LONGEST_MS;

describe("a busy isolate", () => {
  it("answers a heartbeat before its PUT ends, and asks for the next one later", () =>
    inGateway(async (made) => {
      busy(made);
      made.onPut = () => new Promise(() => undefined);
      const socket = await made.connected("edge-1");
      expect([await made.beat(socket), nextInMs(socket)]).toEqual(["answer", USUAL_MS]);
      expect(made.puts).toEqual(["edge-1"]);
    }));

  it("renews no lease that lasts until the heartbeat after the next one", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      made.live({ lateness: { ms: 1000, calmMs: 0, note: () => undefined } });
      await made.report(socket);
      for (const afterMs of [INTERVAL_MS, INTERVAL_MS, INTERVAL_MS]) await made.beat(socket, { afterMs });
      expect(made.puts).toHaveLength(3);
    }));

  it("gets no answer to a PUT in time → PUTs of other machines go on", () =>
    inGateway(async (made) => {
      busy(made);
      made.onPut = () => Promise.resolve<LeasePut>({ kind: "failed", isAnswered: false, retryAfterMs: 0 });
      const [one, other] = [await made.connected("edge-1"), await made.connected("edge-2")];
      await made.beat(one);
      await made.beat(other, { afterMs: 0 });
      expect([made.puts, nextInMs(other)]).toEqual([["edge-1", "edge-2"], USUAL_MS]);
    }));

  it("a PUT finds that another writer has the lease → the next heartbeat is answered with again", () =>
    inGateway(async (made) => {
      busy(made);
      made.onPut = () => Promise.resolve<LeasePut>({ kind: "lost" });
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await until(() => made.puts.length === 1);
      expect(await made.beat(socket, { afterMs: LONGEST_MS })).toBe("again over");
    }));

  it.each([
    ["for less than three of its durations → another heartbeat is taken", 2.9, "answer"],
    ["for longer → a report", 3, "again over"],
  ])("cannot renew a lease %s", (_, leases, expected) =>
    inGateway(async (made) => {
      busy(made);
      made.onPut = () => new Promise(() => undefined);
      const socket = await made.connected("edge-1");
      const beats = Math.ceil((leases * LEASE_MS) / LONGEST_MS);
      for (let at = 1; at < beats; at++) await made.beat(socket, { afterMs: LONGEST_MS });
      const leftMs = leases * LEASE_MS - (beats - 1) * LONGEST_MS;
      expect(await made.beat(socket, { afterMs: leftMs })).toBe(expected);
    }),
  );

  it.each([
    ["after its longest duration → a heartbeat is still taken", undefined, "answer"],
    ["with a drop-in's condition that expires → a report", ["Backup"], "again over"],
  ])("has a loan %s", (_, remaining, expected) =>
    inGateway(async (made) => {
      busy(made);
      made.loan = { quietForMs: INTERVAL_MS, quiet: { ...QUIET, ...(remaining && { remaining }) } };
      expect(await made.beat(await made.connected("edge-1"))).toBe(expected);
    }),
  );

  it("a machine sends nothing more → silent seven intervals after its next heartbeat's time, and the lateness", () =>
    inGateway(async (made) => {
      busy(made);
      const socket = await made.connected("edge-1");
      await made.beat(socket);
      await made.pass(USUAL_MS + 6 * INTERVAL_MS + LATE_MS - 1);
      expect(made.woken).toEqual(["edge-1 report"]);
      await made.pass(1000);
      expect(made.woken).toEqual(["edge-1 report", "edge-1 ended"]);
    }));

  /** Connects machines, and begins a report of each; their node objects do not answer. */
  const reporting = async (made: MadeUpGateway, count: number) => {
    const sockets: MachineSocket[] = [];
    for (let at = 0; at < count; at++) sockets.push(await made.connected(`edge-${at}`));
    made.asked.length = 0;
    made.onReport = () => new Promise(() => undefined);
    for (const socket of sockets) void made.report(socket);
    await until(() => made.asked.length === WHILE_BUSY.reports);
    return sockets;
  };

  it("has as many reports in progress as it takes → refuses the next one without its node object; later it is taken", () =>
    inGateway(async (made) => {
      busy(made);
      const sockets = await reporting(made, WHILE_BUSY.reports + 1);
      const [refused] = sockets.slice(-1);
      expect(refused?.last).toMatchObject({ status: 503, body: { reason: "busy", retryAfterSeconds: 7 } });
      expect(made.asked).toHaveLength(WHILE_BUSY.reports);
      made.live({ lateness: { ms: 0, calmMs: 0, note: () => undefined } });
      made.onReport = undefined;
      await made.report(refused!);
      expect(refused?.said.at(-1)).toBe("report-answer 200");
    }));

  it("the first report over a socket → taken, whatever is in progress", () =>
    inGateway(async (made) => {
      busy(made);
      await reporting(made, WHILE_BUSY.reports);
      made.onReport = undefined;
      const { said } = await made.connected("edge-next");
      expect(said).toEqual(["report-answer 200"]);
    }));

  it("has refused a machine's report, and hears nothing more → silent four intervals later, and the lateness", () =>
    inGateway(async (made) => {
      busy(made);
      const [refused] = (await reporting(made, WHILE_BUSY.reports + 1)).slice(-1);
      await made.pass(3 * INTERVAL_MS);
      await made.report(refused!);
      await made.pass(WHILE_BUSY.silence * INTERVAL_MS + LATE_MS - 1);
      expect(refused?.said.at(-1)).toBe("report-answer 503");
      await made.pass(1);
      expect(refused?.said.at(-1)).toBe("closing silent");
    }));

  it("a socket is lost → its node object is told 30 s after the last frame; meanwhile a withdrawal gets the loan", () =>
    inGateway(async (made) => {
      busy(made);
      const [told, withdrawn] = [await made.connected("edge-1"), await made.connected("edge-2")];
      made.asked.length = 0;
      await made.lose(told);
      await made.lose(withdrawn);
      await made.pass(WHILE_BUSY.endedMs - 1);
      expect(await made.gateway.withdraw("edge-2", 9)).toMatchObject({ epoch: 2 });
      expect([made.asked, made.members]).toEqual([[], ["edge-1"]]);
      await made.pass(1);
      expect(made.asked).toMatchObject([{ name: "edge-1", what: "ended", returned: { epoch: 1 } }]);
      expect(made.members).toEqual([]);
    }));

  it("a socket is lost while its PUT waits → the PUT never begins", () =>
    inGateway(async (made) => {
      busy(made);
      const { promise, resolve } = Promise.withResolvers<LeasePut>();
      made.onPut = () => promise;
      const sockets: MachineSocket[] = [];
      for (let at = 0; at <= PUTS_AT_ONCE; at++) sockets.push(await made.connected(`edge-${at}`));
      for (const socket of sockets) await made.beat(socket, { afterMs: INTERVAL_MS });
      expect(made.waiting).toBe(1);
      await made.lose(sockets.at(-1)!);
      expect([made.waiting, made.asked.at(-1)?.what]).toEqual([0, "report"]);
      resolve({ kind: "lost" });
      // A withdrawal waits for the PUT in progress.
      for (const { name } of sockets) await made.gateway.withdraw(name, 9);
      expect(made.puts).toHaveLength(PUTS_AT_ONCE);
    }));

  it("many sockets are lost → four node objects are told in a second", () =>
    inGateway(async (made) => {
      busy(made);
      for (let at = 0; at < 6; at++) await made.lose(await made.connected(`edge-${at}`));
      made.asked.length = 0;
      await made.pass(WHILE_BUSY.endedMs);
      expect(made.asked).toHaveLength(WHILE_BUSY.notifiedAtOnce);
      await made.pass(WATCH_LIMITS.turnMs);
      expect(made.asked).toHaveLength(6);
    }));
});
