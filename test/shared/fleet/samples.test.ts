// Tests that samples are thinned with age. Samples stay in order and bounded, and each span keeps its least value.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Amounts,
  capacityAfter,
  capacityOfSignals,
  decodeSamples,
  encodeSamples,
  joinSamples,
  type KeptSamples,
  MAX_SAMPLES,
  NO_SAMPLES,
  SAMPLE_BYTES,
  SAMPLED_SIGNALS,
  type VitalsSample,
  sampleOf,
  samplesAfter,
  thinned,
} from "../../../shared/fleet/samples.ts";

const NOW_S = Date.UTC(2026, 0, 1, 12) / 1000;
const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/** Returns amounts that differ only in the first signal. */
const amountsOf = (first: number): Amounts => SAMPLED_SIGNALS.map((_, at) => (at === 0 ? first : Number.NaN));
const sample = (agoS: number, first: number): VitalsSample => ({
  atS: NOW_S - agoS,
  available: amountsOf(first),
});
const firstOf = ({ atS, available }: VitalsSample) => [NOW_S - atS, available[0]];

const anyAmount = fc.oneof(
  fc.nat().map((amount) => Math.fround(amount)),
  fc.constant(Number.NaN),
);
const anySample = fc.record({
  atS: fc.integer({ min: NOW_S - 100 * DAY_S, max: NOW_S + HOUR_S }),
  available: fc.array(anyAmount, { minLength: SAMPLED_SIGNALS.length, maxLength: SAMPLED_SIGNALS.length }),
});
const anySamples = fc.oneof(
  fc.array(anySample, { maxLength: 50 }),
  // Many samples are in one hour, so that each span has several.
  fc
    .array(anySample, { maxLength: 200 })
    .map((all) => all.map((each) => ({ ...each, atS: NOW_S - (Math.abs(each.atS) % HOUR_S) }))),
);

/** Returns the least amount of the signal `at` in the samples of the last 90 days. */
function leastOf(samples: readonly VitalsSample[], at: number): number {
  const young = samples.filter(({ atS }) => NOW_S - atS < 90 * DAY_S);
  return Math.min(...young.map(({ available }) => available[at]!).filter((amount) => !Number.isNaN(amount)));
}

describe("for any samples", () => {
  it("they are thinned in order, up to now, and thinning again changes nothing", () => {
    fc.assert(
      fc.property(anySamples, (samples) => {
        const kept = thinned(samples, NOW_S);
        const times = kept.map(({ atS }) => atS);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(Math.max(0, ...times)).toBeLessThanOrEqual(NOW_S);
        expect(thinned(kept, NOW_S)).toEqual(kept);
      }),
    );
  });

  it("the least of each signal stays", () => {
    fc.assert(
      fc.property(anySamples, (samples) => {
        const kept = thinned(samples, NOW_S);
        for (const at of SAMPLED_SIGNALS.keys()) expect(leastOf(kept, at)).toBe(leastOf(samples, at));
      }),
    );
  });

  it("samples that arrived step by step keep the least as well", () => {
    fc.assert(
      fc.property(anySamples, (samples) => {
        const inOrder = samples.filter(({ atS }) => atS <= NOW_S).toSorted((a, b) => a.atS - b.atS);
        let stepwise: VitalsSample[] = [];
        for (const each of inOrder) stepwise = thinned([...stepwise, each], each.atS);
        const kept = thinned(stepwise, NOW_S);
        for (const at of SAMPLED_SIGNALS.keys()) expect(leastOf(kept, at)).toBe(leastOf(inOrder, at));
      }),
    );
  });

  it("their bytes are read as they were written", () => {
    fc.assert(
      fc.property(anySamples, (samples) => {
        const all: KeptSamples = { capacity: amountsOf(8), samples };
        expect(decodeSamples(encodeSamples(all))).toEqual(all);
      }),
    );
  });
});

describe("thinned by age", () => {
  it.each<[string, [agoS: number, amount: number][], [agoS: number, amount: number][]]>([
    ["none → none", [], []],
    [
      "two of one minute → the least, with the time of the newer",
      [
        [50, 5],
        [10, 7],
      ],
      [[10, 5]],
    ],
    [
      "two of different minutes → both",
      [
        [70, 5],
        [10, 7],
      ],
      [
        [70, 5],
        [10, 7],
      ],
    ],
    [
      "a moment younger than an hour → each minute",
      [
        [HOUR_S - 1, 5],
        [HOUR_S - 70, 7],
      ],
      [
        [HOUR_S - 1, 5],
        [HOUR_S - 70, 7],
      ],
    ],
    [
      "an hour old → one for four minutes",
      [
        [HOUR_S + 3 * MINUTE_S, 7],
        [HOUR_S + MINUTE_S, 5],
        [HOUR_S, 8],
      ],
      [
        [HOUR_S + MINUTE_S, 5],
        [HOUR_S, 8],
      ],
    ],
    [
      "a moment younger than a day → each four minutes",
      [
        [DAY_S - 1, 5],
        [DAY_S - 5 * MINUTE_S, 7],
      ],
      [
        [DAY_S - 1, 5],
        [DAY_S - 5 * MINUTE_S, 7],
      ],
    ],
    [
      "a day old → one for 20 minutes",
      [
        [DAY_S + 19 * MINUTE_S, 7],
        [DAY_S, 8],
        [DAY_S + MINUTE_S, 5],
      ],
      [
        [DAY_S + MINUTE_S, 5],
        [DAY_S, 8],
      ],
    ],
    [
      "a week old → one for two hours",
      [
        [7 * DAY_S + 119 * MINUTE_S, 7],
        [7 * DAY_S + MINUTE_S, 5],
      ],
      [[7 * DAY_S + MINUTE_S, 5]],
    ],
    ["a moment younger than 90 days → stays", [[90 * DAY_S - 1, 5]], [[90 * DAY_S - 1, 5]]],
    ["90 days old → removed", [[90 * DAY_S, 5]], []],
    [
      "out of order → in order",
      [
        [MINUTE_S, 7],
        [HOUR_S, 5],
      ],
      [
        [HOUR_S, 5],
        [MINUTE_S, 7],
      ],
    ],
    ["ahead of the clock → with the current time", [[-DAY_S, 5]], [[0, 5]]],
    [
      "ahead of a clock that was set back → merged with later ones",
      [
        [-DAY_S, 5],
        [0, 7],
      ],
      [[0, 5]],
    ],
    [
      "unknown, then known → known",
      [
        [50, Number.NaN],
        [10, 7],
      ],
      [[10, 7]],
    ],
    [
      "known, then unknown → known",
      [
        [50, 7],
        [10, Number.NaN],
      ],
      [[10, 7]],
    ],
  ])("%s", (_, samples, kept) => {
    expect(
      thinned(
        samples.map(([agoS, first]) => sample(agoS, first)),
        NOW_S,
      ).map(firstOf),
    ).toEqual(kept);
  });

  it.each([
    ["as many spans as the limit → all", 0],
    ["more spans than the limit → the latest", 1],
  ])("%s", (_, more) => {
    const seconds = Array.from({ length: MAX_SAMPLES + more }, (__, at) => sample(at, at));
    const kept = thinned(seconds, NOW_S, [{ underS: DAY_S, everyS: 1 }]);
    expect([kept.length, kept.at(-1)?.atS]).toEqual([MAX_SAMPLES, NOW_S]);
  });

  it("90 days of samples, one a minute → fewer than the limit, each age with its own span", () => {
    const minutes = Array.from({ length: 90 * 24 * 60 }, (_, at) => sample(at * MINUTE_S, at));
    const kept = thinned(minutes, NOW_S);
    expect(kept.length).toBeLessThanOrEqual(MAX_SAMPLES);
    expect(kept.length).toBeGreaterThan(1800);
    expect(kept.filter(({ atS }) => NOW_S - atS < HOUR_S)).toHaveLength(60);
    expect(kept.filter(({ atS }) => NOW_S - atS < DAY_S)).toHaveLength(60 + 23 * 15 + 1);
  });
});

describe("rows of samples", () => {
  it("joined → in one order, each signal with its last known capacity", () => {
    const older = {
      capacity: capacityOfSignals({ "memory.available": [1, 8], "pid.available": [1, 9] }),
      samples: [sample(HOUR_S, 5)],
    };
    const newer = { capacity: capacityOfSignals({ "memory.available": [1, 16] }), samples: [sample(0, 7)] };
    const joined = joinSamples(older, newer, NOW_S);
    expect(joined.samples.map(firstOf)).toEqual([
      [HOUR_S, 5],
      [0, 7],
    ]);
    expect(joined.capacity).toEqual([16, Number.NaN, Number.NaN, Number.NaN, Number.NaN, 9]);
    expect(capacityAfter(null, null)).toBeNull();
  });

  it("of another machine → neither its samples nor its capacity, once this one has none", () => {
    const kept = { capacity: amountsOf(8), samples: [sample(HOUR_S, 5), sample(0, 7)] };
    expect(samplesAfter(kept, (NOW_S - HOUR_S) * 1000).samples.map(firstOf)).toEqual([[0, 7]]);
    expect(samplesAfter(kept, NOW_S * 1000)).toBe(NO_SAMPLES);
  });

  it("take 28 bytes for each sample, and for the capacities", () => {
    expect(SAMPLE_BYTES).toBe(28);
    expect(encodeSamples({ capacity: null, samples: [sample(0, 1)] })).toHaveLength(56);
    expect(decodeSamples(encodeSamples(NO_SAMPLES))).toEqual(NO_SAMPLES);
    expect(decodeSamples(new Uint8Array(0))).toEqual(NO_SAMPLES);
  });

  it("of a report → whole seconds; a signal that was not observed is unknown", () => {
    const { atS, available } = sampleOf({ "pid.available": [1000, 4000] }, NOW_S * 1000 + 999);
    expect([atS, available[5], available[0]]).toEqual([NOW_S, 1000, Number.NaN]);
  });
});
