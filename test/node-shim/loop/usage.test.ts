// Tests when the shim sends its usage: after a report or heartbeat, at once on a new socket, then once a minute.
import { describe, expect, it } from "vitest";
import { sendingUsage, wholeUsage } from "../../../node-shim/loop/usage.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { USAGE, type Usage, usageOf } from "../../../shared/protocol/usage.ts";
import { settle } from "../base/fake-clock.ts";

const FACTS = { machine: { cores: 8 } } as Facts;
const VITALS = { signals: { "memory.available": [6e9, 16e9] as [number, number] } };
const KERNEL = usageOf(USAGE.map(() => null));

/** Plays a shim with a heartbeat every 9.6 s, whose reports and sockets the test sets. */
function shim() {
  const sent: [over: string, atMs: number, Usage][] = [];
  let [nowMs, reads] = [0, 0];
  const played = {
    sent,
    ok: true,
    socket: null as { takesUsage: boolean; sendUsage: (usage: Usage) => void } | null,
    reading: () => Promise.resolve(KERNEL),
    open(name: string, takesUsage = true) {
      played.socket = { takesUsage, sendUsage: (usage) => void sent.push([name, nowMs, usage]) };
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

  it("never by HTTP, to a gateway that does not take it, or after a failed report: then nothing is read", async () => {
    const played = shim();
    await played.beat(10);
    played.open("earlier Worker", false);
    await played.beat(10);
    played.open("a");
    played.ok = false;
    await played.beat(10);
    expect([played.over(), played.reads()]).toEqual([[], 0]);
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

it("CPUs are from the facts, and memory is from the vitals", () => {
  expect(wholeUsage(KERNEL, FACTS, VITALS)).toMatchObject({
    cpus: 8,
    memoryWorkingSetBytes: 10e9,
    memoryCapacityBytes: 16e9,
  });
  expect(wholeUsage(KERNEL, {} as Facts, { signals: {} })).toEqual(KERNEL);
});
