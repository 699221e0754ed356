import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withContainerFsThresholds } from "../../vectors/upstream/eviction-filesystems.ts";
import {
  effectiveEvictionHard,
  type EvictionSettings,
  type EvictionState,
  NO_PRESSURE,
  type Observations,
  parseThresholds,
  synchronizeEviction,
} from "../../../shared/resources/eviction.ts";

const PERIOD_MS = 300_000;
const START = Date.UTC(2026, 0, 1);

const thresholdsOf = (settings: EvictionSettings) => {
  const thresholds = parseThresholds(settings);
  if (!thresholds.ok) throw new Error(thresholds.error);
  return thresholds.value;
};

/** Returns the conditions after each observation. Observations are ten seconds apart, unless `afterMs` is given. */
const conditionsOver = (settings: EvictionSettings, looks: [Observations, afterMs?: number][]) => {
  let state: EvictionState = NO_PRESSURE;
  let now = START;
  return looks.map(([observations, afterMs = 10_000]) => {
    now += afterMs;
    // The state becomes JSON and back, because it is stored as JSON between two observations.
    state = JSON.parse(JSON.stringify(state));
    state = synchronizeEviction(thresholdsOf(settings), observations, state, now, PERIOD_MS);
    return state.conditions;
  });
};

const memory = (available: number): Observations => ({ "memory.available": [available, 1000] });
const hard = { evictionHard: { "memory.available": "100" } };

describe("a condition", () => {
  test.each<[string, EvictionSettings, [Observations, afterMs?: number][], string[][]]>([
    ["does not hold with exactly the threshold available", hard, [[memory(100)]], [[]]],
    ["holds at once with one byte less", hard, [[memory(99)]], [["MemoryPressure"]]],
    [
      "holds until the transition period has ended",
      hard,
      [[memory(99)], [memory(100), PERIOD_MS - 1], [memory(100), 1]],
      [["MemoryPressure"], ["MemoryPressure"], []],
    ],
    [
      "counts the transition period from when it was last met",
      hard,
      [[memory(99)], [memory(99), PERIOD_MS], [memory(100), PERIOD_MS - 1], [memory(100), 1]],
      [["MemoryPressure"], ["MemoryPressure"], ["MemoryPressure"], []],
    ],
    [
      "of a soft threshold holds during its grace period",
      { evictionSoft: { "memory.available": "100" }, evictionSoftGracePeriod: { "memory.available": "1h" } },
      [[memory(99)]],
      [["MemoryPressure"]],
    ],
    [
      "holds until the minimum reclaim is there too",
      { ...hard, evictionMinimumReclaim: { "memory.available": "50" } },
      [[memory(99)], [memory(149), PERIOD_MS], [memory(150), PERIOD_MS - 1], [memory(150), 1]],
      [["MemoryPressure"], ["MemoryPressure"], ["MemoryPressure"], []],
    ],
    [
      "keeps counting down while its signal is not observed",
      hard,
      [[memory(99)], [{}, PERIOD_MS - 1], [{}, 1]],
      [["MemoryPressure"], ["MemoryPressure"], []],
    ],
    [
      "of each kind is its own",
      { evictionHard: { "nodefs.inodesFree": "5%", "pid.available": "10" } },
      [[{ "nodefs.inodesFree": [49, 1000], "pid.available": [10, 100] }], [{ "pid.available": [-5, 100] }]],
      [["DiskPressure"], ["DiskPressure", "PIDPressure"]],
    ],
  ])("%s", (_, settings, looks, want) => {
    expect(conditionsOver(settings, looks)).toEqual(want);
  });
});

test("a percentage is multiplied as the kubelet's 32-bit float", () => {
  // Exactly 10 % of this capacity is 27055317401.6. The kubelet's 32-bit float is slightly more than 10 %.
  const full = (available: number): Observations => ({ "nodefs.available": [available, 270_553_174_016] });
  const looks: [Observations][] = [[full(27_055_317_804)], [full(27_055_317_803)]];
  expect(conditionsOver({ evictionHard: { "nodefs.available": "10%" } }, [looks[0]!])).toEqual([[]]);
  expect(conditionsOver({ evictionHard: { "nodefs.available": "10%" } }, [looks[1]!])).toEqual([
    ["DiskPressure"],
  ]);
});

test("a calm machine's state stays the same object: there is nothing to store", () => {
  const thresholds = thresholdsOf(hard);
  const calm = { conditions: [], lastMetAt: {}, firstMetAt: {}, metThresholds: [] };
  expect(synchronizeEviction(thresholds, memory(500), calm, START, PERIOD_MS)).toBe(calm);
  const pressed = synchronizeEviction(thresholds, memory(50), calm, START, PERIOD_MS);
  const after = synchronizeEviction(thresholds, memory(500), pressed, START + PERIOD_MS, PERIOD_MS);
  expect(after).toEqual(calm);
});

test("a threshold that is no longer configured is forgotten", () => {
  const pressed = synchronizeEviction(
    thresholdsOf({ ...hard, evictionMinimumReclaim: { "memory.available": "800" } }),
    memory(50),
    NO_PRESSURE,
    START,
    PERIOD_MS,
  );
  const lower = thresholdsOf({ evictionHard: { "memory.available": "10" } });
  const state = synchronizeEviction(lower, memory(50), pressed, START + PERIOD_MS, PERIOD_MS);
  expect(state).toEqual(NO_PRESSURE);
});

test("for any observations, a condition never holds without a threshold of its kind met within the period", () => {
  const available = fc.integer({ min: 0, max: 200 });
  const look = fc.tuple(available, fc.integer({ min: 0, max: 2 * PERIOD_MS }));
  fc.assert(
    fc.property(fc.array(look, { maxLength: 20 }), (looks) => {
      const conditions = conditionsOver(
        hard,
        looks.map(([bytes, afterMs]) => [memory(bytes), afterMs]),
      );
      let sinceMet = Infinity;
      looks.forEach(([bytes, afterMs], at) => {
        sinceMet = bytes < 100 ? 0 : sinceMet + afterMs;
        expect(conditions[at]).toEqual(sinceMet < PERIOD_MS ? ["MemoryPressure"] : []);
      });
    }),
  );
});

describe("the active evictionHard", () => {
  test.each([
    ["not configured: the defaults", null, false, 5, "100Mi"],
    ["configured: only that", { "memory.available": "1Gi" }, false, 1, "1Gi"],
    ["configured and merged: the rest by default", { "memory.available": "1Gi" }, true, 5, "1Gi"],
  ])("%s", (_, configured, merge, signals, memoryAvailable) => {
    const effective = effectiveEvictionHard(configured, merge);
    expect(Object.keys(effective)).toHaveLength(signals);
    expect(effective["memory.available"]).toBe(memoryAvailable);
  });
});

describe("thresholds of the containers' file system", () => {
  const configured = thresholdsOf({
    evictionHard: { "nodefs.available": "10", "imagefs.available": "15", "containerfs.available": "99" },
  });
  test.each([
    ["one file system: as nodefs", false, false, ["10"]],
    ["images and containers apart from nodefs: as imagefs", true, false, ["15"]],
    ["images apart, containers on nodefs: as nodefs", true, true, ["10"]],
    ["only containers apart: as configured", false, true, ["99"]],
  ])("%s", (_, dedicatedImageFs, splitContainerFs, want) => {
    const all = withContainerFsThresholds(configured, dedicatedImageFs, splitContainerFs);
    const own = all.filter(({ signal }) => signal === "containerfs.available");
    expect(own.map(({ value }) => String(value.quantity?.unscaled))).toEqual(want);
  });
});
