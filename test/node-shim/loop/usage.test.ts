// Tests when the shim sends its usage: after a report or heartbeat, at once on a new socket, then once a minute.
import { describe, expect, it } from "vitest";
import { sendingUsage, wholeUsage } from "../../../node-shim/loop/usage.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { USAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import { amountsOf, USAGE, type Usage, usageOf } from "../../../shared/protocol/usage.ts";
import { makeSessionKeys, startSession } from "../../../node-shim/worker-link/session.ts";
import { settle } from "../base/fake-clock.ts";

const FACTS = { machine: { cores: 8 } } as Facts;
const VITALS = { signals: { "memory.available": [6e9, 16e9] as [number, number] } };
const KERNEL = usageOf(USAGE.map(() => null));

type Offered = Parameters<
  NonNullable<ReturnType<Parameters<typeof sendingUsage>[1]["socket"]>>["sendUsage"]
>[1];

/** Plays a shim with a heartbeat every 9.6 s, whose reports and sockets the test sets. */
function shim() {
  const sent: [over: string, atMs: number, Usage][] = [];
  let offered: Offered = { count: 0, take: () => ({ lost: 0, samples: [] }) };
  let [nowMs, reads] = [0, 0];
  const played = {
    sent,
    ok: true,
    socket: null as Parameters<typeof sendingUsage>[1]["socket"] extends () => infer S ? S : never,
    reading: (): Promise<Usage> => Promise.resolve({ ...KERNEL, uptimeSeconds: nowMs / 1000 }),
    open(name: string, takesUsage = true) {
      played.socket = {
        takesUsage,
        sendUsage(usage, missing) {
          sent.push([name, nowMs, usage]);
          offered = missing;
        },
      };
    },
    offered: () => offered.count,
    /** Takes kept samples, as a gateway does. Returns their uptimes, and the number of lost ones. */
    take(most = 60) {
      const { lost, samples } = offered.take(most);
      return { lost, uptimes: samples.map(([uptimeSeconds]) => uptimeSeconds) };
    },
    async beat(times = 1) {
      for (let beats = 0; beats < times; beats++) {
        await report(FACTS, VITALS);
        await settle();
        nowMs += 9600;
      }
    },
    reads: () => reads,
    over: () => sent.map(([name, atMs]) => `${name} ${atMs / 1000}`),
  };
  const report = sendingUsage(() => Promise.resolve({ ok: played.ok } as never), {
    read() {
      reads++;
      return played.reading();
    },
    socket: () => played.socket,
    nowMs: () => nowMs,
  });
  return played;
}

describe("the usage is sent", () => {
  it("at once, then with the first heartbeat after 55 s", async () => {
    const played = shim();
    played.open("a");
    await played.beat(14);
    expect(played.over()).toEqual(["a 0", "a 57.6", "a 115.2"]);
  });

  it("at once on another socket", async () => {
    const played = shim();
    played.open("a");
    await played.beat(2);
    played.open("b");
    await played.beat(2);
    expect(played.over()).toEqual(["a 0", "b 19.2"]);
  });

  it("never by HTTP, to a gateway that does not take it, or after a failed report: then it is kept", async () => {
    const played = shim();
    await played.beat(10);
    played.open("earlier Worker", false);
    await played.beat(10);
    played.open("a");
    played.ok = false;
    await played.beat(10);
    expect([played.over(), played.reads()]).toEqual([[], 5]);
  });

  it("a file hangs → no further read begins, and reports go on", async () => {
    const played = shim();
    played.open("a");
    let finish: () => void = () => undefined;
    played.reading = () => new Promise((resolve) => void (finish = () => resolve(KERNEL)));
    await played.beat(20);
    expect([played.over(), played.reads()]).toEqual([[], 1]);
    finish();
    await settle();
    expect(played.over()).toEqual(["a 192"]);
  });

  it("the socket was lost during the read → not sent over the next one", async () => {
    const played = shim();
    played.open("a");
    let finish: () => void = () => undefined;
    played.reading = () => new Promise((resolve) => void (finish = () => resolve(KERNEL)));
    await played.beat();
    played.open("b");
    finish();
    await settle();
    expect(played.over()).toEqual([]);
  });
});

describe("samples that no gateway has confirmed", () => {
  it("of a time without a socket are offered, and the oldest are given first", async () => {
    const played = shim();
    await played.beat(18);
    played.open("a");
    await played.beat();
    expect(played.offered()).toBe(3);
    expect(played.take(2)).toEqual({ lost: 0, uptimes: [0, 57.6] });
    expect(played.take(2)).toEqual({ lost: 0, uptimes: [115.2] });
  });

  it("that are confirmed by an answer after them are not offered again", async () => {
    const played = shim();
    await played.beat(6);
    played.open("a");
    await played.beat();
    played.take();
    await played.beat();
    played.open("b");
    await played.beat();
    expect(played.offered()).toBe(0);
  });

  it("whose socket was lost before an answer are offered again over the next one", async () => {
    const played = shim();
    await played.beat(6);
    played.open("a");
    await played.beat();
    played.take();
    played.open("b");
    await played.beat();
    expect(played.take()).toEqual({ lost: 0, uptimes: [0, 57.6] });
  });

  it("are kept for an hour; the number of lost ones is sent until it is confirmed", async () => {
    const played = shim();
    await played.beat(6 * (USAGE_LIMITS.kept + 3));
    played.open("a");
    await played.beat();
    expect(played.offered()).toBe(USAGE_LIMITS.kept);
    const first = played.take();
    // The usage frame's own sample is kept too, until it is confirmed.
    expect([first.lost, first.uptimes[0]]).toEqual([4, 4 * 57.6]);
    expect(played.take().lost).toBe(0);
    played.open("b");
    await played.beat();
    expect(played.take().lost).toBe(5);
    await played.beat();
    played.open("c");
    await played.beat();
    expect(played.take()).toEqual({ lost: 0, uptimes: [] });
  });

  it("fit into the frame with the longest amounts", async () => {
    const played = shim();
    const longest = usageOf(USAGE.map(() => 12_345_678_901_234.123));
    played.reading = () => Promise.resolve(longest);
    await played.beat(6 * USAGE_LIMITS.kept);
    played.open("a");
    await played.beat();
    const keys = [makeSessionKeys(), makeSessionKeys()] as const;
    const session = startSession("edge-1", keys[0], { key: keys[1].publicKey, nonce: "" });
    const frame = session?.missingUsage({
      lost: 0,
      samples: Array.from({ length: USAGE_LIMITS.kept }, () => amountsOf(longest)),
    });
    expect(frame?.length).toBeLessThanOrEqual(USAGE_LIMITS.keptBytes);
  });
});

it("CPUs are from the facts, and memory is from the vitals", () => {
  expect(wholeUsage(KERNEL, FACTS, VITALS)).toMatchObject({
    cpus: 8,
    memoryWorkingSetBytes: 10e9,
    memoryCapacityBytes: 16e9,
  });
  expect(wholeUsage(KERNEL, {} as Facts, { signals: {} })).toEqual(KERNEL);
});
