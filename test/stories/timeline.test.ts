// Tests a machine's timeline from reports to the answer: pressure, silence, evictions, and another machine of the
// same name.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { TIMELINE_LIMITS } from "../../shared/protocol/limits.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { TimelineAnswer } from "../../shared/protocol/timeline.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  mintToken,
  operator,
  setFault,
  shimOf,
} from "../worker/support/machine.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { setClock, shift } from "../worker/support/clock.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const START_MS = Date.UTC(2100, 5, 1, 12);
const MINUTE_MS = 60_000;
const BEAT_MS = 30_000;

const withMemory = (free: number): Vitals => ({
  signals: { ...HEALTHY.signals, "memory.available": [free, 8 * GIB] },
});
const UNDER_PRESSURE = withMemory(50 * MIB);

const minutes = (text: string | null) => (Date.parse(text ?? "") - START_MS) / MINUTE_MS;
const objectOf = (name: string) => env.NODES.getByName(name);

async function timelineOf(name: string, query = ""): Promise<TimelineAnswer> {
  const { status, body } = await operator<TimelineAnswer>("GET", `/v1/nodes/${name}/timeline${query}`);
  expect(status).toBe(200);
  return body;
}

/** Returns the bands of a track as texts such as `True 0–5`, in minutes since the start. */
const trackOf = ({ bands }: TimelineAnswer, track: string) =>
  bands
    .filter((band) => band.track === track)
    .map(({ from, to, status }) => `${status} ${minutes(from)}–${minutes(to)}`);

/**
 * Enrols a machine, and registers its Node a second later. `keep` repeats a report often enough that the machine
 * does not turn silent.
 */
async function registered(name: string) {
  setClock(START_MS - 1000);
  const send = shimOf(await enrolled(name, { rejoin: true }));
  const report = (vitals: Vitals) => send(facts(name), vitals);
  const keep = async (vitals: Vitals, forMs: number) => {
    for (let ms = 0; ms < forMs; ms += BEAT_MS) {
      shift(BEAT_MS);
      await report(vitals);
    }
  };
  shift(1000);
  await report(HEALTHY);
  return { report, keep };
}

beforeEach(() => {
  setClock(START_MS);
});

describe("a machine that runs out of memory", () => {
  it("→ the pressure begins and ends with the reports that decide it, also while the apiserver is unreachable", async () => {
    const name = "timeline-pressure";
    const { report, keep } = await registered(name);
    await keep(HEALTHY, 2 * MINUTE_MS);
    await report(UNDER_PRESSURE);
    await setFault(name, "html");
    await keep(HEALTHY, 8 * MINUTE_MS);
    const timeline = await timelineOf(name);
    expect(trackOf(timeline, "MemoryPressure")).toEqual(["False 0–2", "True 2–7", "False 7–10"]);
    const pressure = timeline.bands.find(
      ({ status, track }) => track === "MemoryPressure" && status === "True",
    );
    expect(pressure?.text).toBe("KubeletHasInsufficientMemory: machine has insufficient memory available");
    await setFault(name, "");
  });

  it("→ the line shows the lowest value, with the thresholds and the capacity", async () => {
    const name = "timeline-low";
    const { report } = await registered(name);
    shift(10 * MINUTE_MS);
    await report(UNDER_PRESSURE);
    shift(20_000);
    await report(HEALTHY);
    const { samples, thresholds, capacity } = await timelineOf(name);
    expect(samples.signals).toEqual(["memory.available", "nodefs.available", "pid.available"]);
    expect(samples.at).toEqual([START_MS, START_MS + 10 * MINUTE_MS + 20_000]);
    expect(samples.values).toMatchObject({
      "memory.available": [4 * GIB, 50 * MIB],
      "nodefs.available": [50 * GIB, 50 * GIB],
    });
    expect(capacity).toMatchObject({ "memory.available": 8 * GIB, "nodefs.inodesFree": null });
    expect(thresholds).toMatchObject({
      "memory.available": { hard: 100 * MIB, soft: null },
      // The default threshold of 10 %, as Go computes it with a 32-bit float.
      "nodefs.available": { hard: 10_737_418_400, soft: null },
      "nodefs.inodesFree": { hard: null, soft: null },
      "pid.available": { hard: null, soft: null },
    });
  });

  it("with a soft threshold → both", async () => {
    const name = "timeline-soft";
    const machine = await enrolled(name);
    const { settings } = facts(name);
    const soft = {
      evictionSoft: { "memory.available": "1Gi" },
      evictionSoftGracePeriod: { "memory.available": "1m" },
    };
    const hard = { evictionHard: { "memory.available": "5%" } };
    await shimOf(machine)(facts(name, { settings: { ...settings, ...soft, ...hard } }), HEALTHY);
    shift(1000);
    const { thresholds, knownSince } = await timelineOf(name);
    expect(knownSince).toBe(new Date(START_MS).toISOString());
    expect(thresholds["memory.available"]).toEqual({ hard: 429_496_736, soft: GIB });
  });
});

describe("a machine that turns silent, and reports again", () => {
  it("→ silent from its last report to its next one, with the state before it", async () => {
    const name = "timeline-silent";
    const { report, keep } = await registered(name);
    await keep(withMemory(3 * GIB), 10 * MINUTE_MS);
    shift(5 * MINUTE_MS);
    await runDurableObjectAlarm(objectOf(name));
    const dark = await timelineOf(name);
    expect(trackOf(dark, "state").slice(1)).toEqual(["ready 0–10", "silent 10–15"]);
    expect(trackOf(dark, "Ready")).toEqual(["True 0–10", "silent 10–15"]);
    // The object stored the samples in SQLite when the silence began, although no status changed.
    await evictDurableObject(objectOf(name));
    expect((await timelineOf(name)).samples.at.at(-1)).toBe(START_MS + 10 * MINUTE_MS);

    shift(5 * MINUTE_MS);
    await report(HEALTHY);
    await keep(HEALTHY, 10 * MINUTE_MS);
    const back = await timelineOf(name);
    expect(trackOf(back, "state").slice(1)).toEqual(["ready 0–10", "silent 10–20", "ready 20–30"]);
    expect(trackOf(back, "Ready")).toEqual(["True 0–10", "silent 10–20", "True 20–30"]);
    const silence = back.bands.find(({ track, status }) => track === "state" && status === "silent");
    expect(silence?.text).toMatch(/^heard of again after 600 s: was cut off, not down/);
    expect(minutes(back.knownSince)).toBe(-1 / 60);
  });

  it("seen through a range → with the state at its start", async () => {
    const name = "timeline-window";
    const { keep } = await registered(name);
    await keep(HEALTHY, 20 * MINUTE_MS);
    const timeline = await timelineOf(name, `?since=${new Date(START_MS + 15 * MINUTE_MS).toISOString()}`);
    expect(trackOf(timeline, "state")).toContain("ready 15–20");
    expect(trackOf(timeline, "MemoryPressure")[0]).toBe("False 15–20");
    expect(timeline.marks).toEqual([]);
    expect(timeline.samples.at.length).toBeGreaterThanOrEqual(2);
    expect(timeline.samples.at[0]).toBeGreaterThanOrEqual(START_MS + 15 * MINUTE_MS);
  });
});

describe("a hundred changes of the status", () => {
  it("with evictions in between → a sample each, all in order", async () => {
    const name = "timeline-hundred";
    const { report } = await registered(name);
    for (let change = 1; change <= 100; change++) {
      shift(4 * MINUTE_MS);
      if (change % 10 === 0) await evictDurableObject(objectOf(name));
      const vitals = { ...withMemory(change * GIB), shuttingDown: change % 2 === 1 };
      // The machine's ticket is too old here: the first report is refused and returns a new ticket.
      if (!(await report(vitals)).ok) await report(vitals);
    }
    const { samples, isCut } = await timelineOf(name);
    expect(isCut).toBe(false);
    expect(samples.at).toHaveLength(101);
    expect(samples.at).toEqual(samples.at.toSorted((a, b) => a - b));
    expect(samples.values["memory.available"]?.slice(1)).toEqual(
      Array.from({ length: 100 }, (_, at) => (at + 1) * GIB),
    );
  });
});

describe("another machine with this name", () => {
  it("→ has neither samples nor conditions of the former one; the state belongs to the name", async () => {
    const name = "timeline-other";
    const { keep } = await registered(name);
    await keep(withMemory(GIB), 10 * MINUTE_MS);
    const key = await makeMachineKey();
    const joinToken = await mintToken({ names: name, rejoin: true });
    await enrolling(name, { joinToken, key, machineID: "m-2", systemUUID: "s-2" });
    shift(MINUTE_MS);
    const timeline = await timelineOf(name);
    expect(timeline.samples.at).toEqual([]);
    expect(timeline.capacity["memory.available"]).toBeNull();
    expect(trackOf(timeline, "Ready")).toEqual(["True 0–10"]);
    expect(trackOf(timeline, "state")).toContain("ready 0–10");
  });
});

describe("more lines than an answer has room for", () => {
  it.each([
    ["as many → all", 0, false],
    ["one more → cut, and nothing is said of the time before", 1, true],
  ])("%s", async (_, more, isCut) => {
    const name = `timeline-lines-${more}`;
    await enrolled(name);
    await runInDurableObject(objectOf(name), (__, { storage }) => {
      storage.sql.exec("DELETE FROM history");
      const insert = "INSERT INTO history (at_ms, kind, text) VALUES (?, ?, ?)";
      for (let line = 0; line < TIMELINE_LIMITS.lines + more; line++)
        storage.sql.exec(
          insert,
          START_MS + line,
          line === 0 ? "state" : "reboot",
          line === 0 ? "ready" : "b",
        );
    });
    shift(10_000);
    const timeline = await timelineOf(name);
    expect([timeline.isCut, timeline.bands.length]).toEqual([isCut, isCut ? 0 : 1]);
    expect(timeline.marks).toHaveLength(isCut ? TIMELINE_LIMITS.lines : TIMELINE_LIMITS.lines - 1);
  });

  it("more bands than an answer has room for → the latest ones", async () => {
    const name = "timeline-bands";
    await enrolled(name);
    await runInDurableObject(objectOf(name), (_, { storage }) => {
      const add = (atMs: number, kind: string, text: string) =>
        storage.sql.exec("INSERT INTO history (at_ms, kind, text) VALUES (?, ?, ?)", atMs, kind, text);
      for (let type = 0; type < 60; type++) add(START_MS, "condition", `C${type}: True (R: m)`);
      for (let silence = 0; silence < 100; silence++) {
        const atMs = START_MS + 1000 * (silence + 1);
        add(atMs, "silence", `silent since ${new Date(atMs - 500).toISOString()}; last said: x`);
        add(atMs, "silence", "heard of again after 1 s");
      }
    });
    shift(200_000);
    const { bands, isCut } = await timelineOf(name);
    expect([bands.length, isCut]).toEqual([TIMELINE_LIMITS.bands, true]);
    expect(bands.at(-1)?.to).toBe(new Date(START_MS + 200_000).toISOString());
  });
});
