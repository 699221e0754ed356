import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  amountSentence,
  amountTicks,
  lastSample,
  lineOf,
  type LineSubject,
  lineSubjects,
  sampleNear,
  thinnedRows,
  topOf,
} from "../../../../infra/page/machine/lines-data.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const NOW = Date.parse("2026-11-23T14:00:00Z");
const ago = (minutes: number) => NOW - minutes * MINUTE;
const line = (at: number[], silences: { fromMs: number; toMs: number }[] = []) =>
  lineOf(
    at,
    at.map((_, index) => index),
    { silences, nowMs: NOW },
  );

describe("where a line stops", () => {
  it.each<[string, number[], { fromMs: number; toMs: number }[], (number | null)[]]>([
    ["nowhere", [15, 10, 5], [], [0, 1, 2]],
    ["where samples are missing", [40, 20, 5], [], [0, null, 1, 2]],
    ["just not yet", [21, 5], [], [0, 1]],
    ["at a silence", [15, 10, 5], [{ fromMs: ago(9), toMs: ago(7) }], [0, 1, null, 2]],
    ["not at one that was before", [15, 10, 5], [{ fromMs: ago(30), toMs: ago(20) }], [0, 1, 2]],
    [
      "at each of several",
      [15, 10, 5],
      [
        { fromMs: ago(14), toMs: ago(13) },
        { fromMs: ago(9), toMs: ago(8) },
      ],
      [0, null, 1, null, 2],
    ],
    ["at one that lasts", [15, 10], [{ fromMs: ago(9), toMs: NOW }], [0, 1]],
  ])("%s", (_, minutes, silences, values) => {
    expect(line(minutes.map(ago), silences).values).toEqual(values);
  });

  it.each([
    ["after a day samples are further apart", 2 * DAY, 60 * MINUTE, 66 * MINUTE],
    ["after a week still further", 20 * DAY, 389 * MINUTE, 391 * MINUTE],
  ])("%s", (_, ageMs, together, apart) => {
    expect(line([NOW - ageMs, NOW - ageMs + together]).values).toEqual([0, 1]);
    expect(line([NOW - ageMs, NOW - ageMs + apart]).values).toEqual([0, null, 1]);
  });

  it("a single sample is seen", () => {
    expect(line([ago(60), ago(30), ago(25)]).alone).toEqual([0]);
    expect(line([ago(5)]).alone).toEqual([0]);
  });

  it("what is not known is none", () => {
    const { values, alone } = lineOf([ago(15), ago(10), ago(5)], [1, null, 3], { silences: [], nowMs: NOW });
    expect(values).toEqual([1, null, 3]);
    expect(alone).toEqual([0, 2]);
  });

  it("times rise, whatever comes", () => {
    const times = fc
      .uniqueArray(fc.integer({ min: NOW - 90 * DAY, max: NOW }))
      .map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(times, (at) => {
        const drawn = line(at);
        expect(drawn.at).toEqual([...new Set(drawn.at)].sort((a, b) => a - b));
        expect(drawn.values.filter((value) => value !== null)).toEqual(at.map((_, index) => index));
      }),
    );
  });
});

describe("the sample at a moment", () => {
  const drawn = lineOf([1000, 2000, 3000], [10, null, 30], { silences: [], nowMs: 4000 });

  it.each([
    [0, 10],
    [1400, 10],
    [1600, null],
    [2900, 30],
    [9000, 30],
  ])("%d ms → %s", (ms, amount) => {
    expect(sampleNear(drawn, ms)?.amount ?? null).toBe(amount);
  });

  it("none, where there is none", () => {
    expect(sampleNear({ at: [], values: [], alone: [] }, 5)).toBeNull();
  });

  it.each<[(number | null)[], unknown]>([
    [[1, 2, null], { atMs: 2000, amount: 2 }],
    [[0, null, null], { atMs: 1000, amount: 0 }],
    [[null, null, null], null],
    [[], null],
  ])("the newest of %j", (values, last) => {
    expect(lastSample([1000, 2000, 3000], values)).toEqual(last);
  });
});

describe("what there are lines of", () => {
  const signals = ["memory.available", "nodefs.available", "imagefs.available", "pid.available"];

  it.each([
    ["images on the same disk", [5, 6], "memory.available nodefs.available pid.available"],
    [
      "images on a disk of their own",
      [5, 7],
      "memory.available nodefs.available imagefs.available pid.available",
    ],
  ])("%s", (_, images, shown) => {
    const values = { "nodefs.available": [5, 6], "imagefs.available": images };
    expect(
      lineSubjects(signals, values)
        .map(({ signal }) => signal)
        .join(" "),
    ).toBe(shown);
  });

  it("a signal of a newer Worker is left out", () => {
    expect(lineSubjects(["gpu.available"], {})).toEqual([]);
  });
});

it.each([
  [0, []],
  [3, [0, 1, 2]],
  [4, [0, 2]],
  [7, [0, 3, 6]],
])("%d rows, of which 3 are shown", (count, rows) => {
  expect(thinnedRows(count, 3)).toEqual(rows);
});

const MI = 2 ** 20;
const GI = 2 ** 30;

describe("ticks beside a line", () => {
  it.each([
    [31 * GI, "bytes", "0, 20 GiB"],
    [9 * GI, "bytes", "0, 5 GiB"],
    [700 * MI, "bytes", "0, 500 MiB"],
    [16_000_000, "count", "0, 10 million"],
    [33_000, "count", "0, 20,000"],
    [0.25 * 1_000_000, "count", "0, 100,000, 200,000"],
    [0, "bytes", "0"],
    [Number.NaN, "bytes", "0"],
  ] as const)("up to %d %s: %s", (top, unit, texts) => {
    expect(
      amountTicks(top, unit, 3)
        .map(({ text }) => text)
        .join(", "),
    ).toBe(texts);
  });

  it("they begin at nothing, rise, end below the top, are few, and none is said as another one is", () => {
    const tops = fc.double({ min: 1, max: 1e16, noNaN: true });
    fc.assert(
      fc.property(tops, fc.constantFrom("bytes" as const, "count" as const), (top, unit) => {
        const ticks = amountTicks(top, unit, 3);
        expect(ticks[0]?.amount).toBe(0);
        expect(ticks.length).toBeLessThanOrEqual(4);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
        expect(ticks.at(-1)?.amount).toBeLessThanOrEqual(top * (1 + 1e-9));
        expect(new Set(ticks.map(({ text }) => text)).size).toBe(ticks.length);
      }),
    );
  });
});

it.each([
  ["room above the line", [4, 10], 100, [1, null], 11.2],
  ["never more than there is", [95], 100, [], 100],
  ["a threshold is within", [1], 100, [50], 56],
  ["a capacity that is too small is none", [120], 100, [], 134.4],
  ["nothing is known", [null], null, [null], 1],
  ["nothing is left", [0], 100, [], 100],
])("the top: %s", (_, values, capacity, thresholds, top) => {
  expect(topOf(values, { capacity, thresholds })).toBeCloseTo(top);
});

describe("the last amount in words", () => {
  const memory: LineSubject = {
    signal: "memory.available",
    title: "Memory",
    unit: "bytes",
    condition: "MemoryPressure",
    pressure: "memory pressure",
  };

  it.each<[number | null, number | null, number | null, number | null, boolean, string]>([
    [412 * MI, 31 * GI, 100 * MI, null, false, "412 MiB of 31 GiB; memory pressure below 100 MiB"],
    [
      412 * MI,
      31 * GI,
      100 * MI,
      500 * MI,
      false,
      "412 MiB of 31 GiB; memory pressure below 100 MiB (soft: 500 MiB)",
    ],
    [600 * MI, 31 * GI, null, 500 * MI, false, "600 MiB of 31 GiB; memory pressure below 500 MiB"],
    [90 * MI, 31 * GI, 100 * MI, null, false, "90 MiB of 31 GiB; memory pressure below 100 MiB"],
    [90 * MI, 31 * GI, 100 * MI, null, true, "90 MiB of 31 GiB; under memory pressure: below 100 MiB"],
    [90 * MI, 31 * GI, null, null, true, "90 MiB of 31 GiB; under memory pressure"],
    [412 * MI, null, null, null, false, "412 MiB"],
    [null, 31 * GI, 100 * MI, null, false, "not known of 31 GiB; memory pressure below 100 MiB"],
  ])("%s of %s, hard %s, soft %s, under pressure: %s", (amount, capacity, hard, soft, isUnder, sentence) => {
    expect(amountSentence(memory, { amount, capacity, hard, soft, isUnder })).toBe(sentence);
  });
});
