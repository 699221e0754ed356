import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { amountSentence, amountTicks, topOf } from "../../../../infra/page/machine/lines-axis.ts";
import type { LineSubject } from "../../../../infra/page/machine/lines-data.ts";

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
