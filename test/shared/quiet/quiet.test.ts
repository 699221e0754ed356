// Tests which heartbeats change nothing. The limits are exact to the unit, and no heartbeat is quiet if time alone
// may change a result.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { NOTHING_REMEMBERED } from "../../../shared/from-report/reported-status.ts";
import { GATEWAY_LIMITS } from "../../../shared/protocol/limits.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import { type Settings, settingsSchema } from "../../../shared/protocol/settings.ts";
import {
  isOtherSkew,
  isQuiet,
  MAX_SKEW_MS,
  type Quiet,
  type QuietBasis,
  quietForMs,
  quietOf,
  unrecordedSkewMs,
} from "../../../shared/quiet/quiet.ts";
import { NO_PRESSURE } from "../../../shared/resources/eviction.ts";
import { basis, CALM, GIB, leastCalm, MACHINE, SETTINGS } from "./machine.ts";

const remembering = (more: Partial<QuietBasis["memory"]>) => ({ memory: { ...NOTHING_REMEMBERED, ...more } });
const saying = (more: Partial<Vitals>): Vitals => ({ ...CALM, ...more });
const having = (signals: Vitals["signals"]): Vitals => ({
  ...CALM,
  signals: { ...CALM.signals, ...signals },
});
const without = (name: (typeof SIGNALS)[number]): Vitals => {
  const { [name]: _, ...signals } = CALM.signals;
  return { ...CALM, signals };
};

const RAID = { type: "RaidDegraded", status: "False", reason: "AllMembers", message: "md0" } as const;
const DOOR = { ...RAID, type: "DoorOpen" } as const;
const dropIns = {
  resources: {},
  labels: {},
  conditions: [
    { ...RAID, expiresInSeconds: 300 },
    { ...DOOR, expiresInSeconds: 60 },
  ],
  working: 1,
  failures: [],
};
const left = (RaidDegraded: number, DoorOpen: number) => ({ RaidDegraded, DoorOpen });
const withDropIns = (remainingSeconds?: Record<string, number>) =>
  basis({
    facts: { settings: SETTINGS, machine: MACHINE, dropIns },
    vitals: { ...CALM, ...(remainingSeconds && { remainingSeconds }) },
  });

function quietAfter(known: QuietBasis): Quiet {
  const quiet = quietOf(known);
  if (!quiet) throw new Error("nothing is quiet");
  // The value is cloned, because node object and gateway exchange it by RPC.
  return structuredClone(quiet);
}

describe("no quiet time is granted", () => {
  const pressed = {
    conditions: ["MemoryPressure"],
    lastMetAt: {},
    firstMetAt: {},
    metThresholds: [],
  } as const;
  test.each<[situation: string, known: Partial<QuietBasis>]>([
    ["a condition holds", remembering({ eviction: pressed })],
    [
      "a threshold was met within the transition period",
      remembering({ eviction: { ...NO_PRESSURE, lastMetAt: { DiskPressure: 1 } } }),
    ],
    [
      "a threshold is met without a transition period",
      remembering({ eviction: { ...NO_PRESSURE, firstMetAt: { "a threshold": 1 } } }),
    ],
    [
      "a threshold waits for its reclaim",
      remembering({ eviction: { ...NO_PRESSURE, metThresholds: ["a threshold"] } }),
    ],
    ["a resource was found short", remembering({ reclaim: { resource: "memory" } })],
    [
      "a threshold is met that no tick has processed",
      { vitals: having({ "memory.available": [1024, 8 * GIB] }) },
    ],
    ["the shim ends", { vitals: saying({ setupError: "no cgroups" }) }],
    ["a shutdown is not recorded yet", { vitals: saying({ shuttingDown: true }) }],
    ["the end of a shutdown is not recorded yet", remembering({ shutdown: { isShuttingDown: true } })],
    [
      "an OOM kill is not recorded yet",
      { vitals: saying({ oomKills: 1 }), ...remembering({ oom: { kills: 0, bootID: "b-1" } }) },
    ],
    [
      "the kills of this boot are not recorded yet",
      { vitals: saying({ oomKills: 1 }), ...remembering({ oom: { kills: 1, bootID: "b-0" } }) },
    ],
    [
      "a file system for images without capacity is not recorded yet",
      {
        vitals: having({ "imagefs.available": [0, 0] }),
        ...remembering({ imageFilesystem: { hasNoCapacity: false } }),
      },
    ],
    ["a setter of the operator's own may read the time", { custom: [() => () => null] }],
    ["a clock is off by an unknown amount", { clock: { isSkewed: true, skewMs: 0 } }],
  ])("while %s", (_, known) => {
    expect(quietOf(basis())).not.toBeNull();
    expect(quietOf(basis(known))).toBeNull();
  });
});

describe("quiet time may be granted", () => {
  test.each<[situation: string, known: Partial<QuietBasis>]>([
    ["errors stay", { vitals: saying({ errors: { network: ["cni plugin not initialized"] } }) }],
    [
      "a machine shuts down",
      { vitals: saying({ shuttingDown: true }), ...remembering({ shutdown: { isShuttingDown: true } }) },
    ],
    [
      "kills are counted",
      { vitals: saying({ oomKills: 3 }), ...remembering({ oom: { kills: 3, bootID: "b-1" } }) },
    ],
    [
      "kills cannot be counted: the boot is unknown",
      { vitals: saying({ oomKills: 3 }), facts: { settings: SETTINGS } },
    ],
    [
      "a file system for images has no capacity, and that is recorded",
      {
        vitals: having({ "imagefs.available": [0, 0] }),
        ...remembering({ imageFilesystem: { hasNoCapacity: true } }),
      },
    ],
    ["a clock is off, and recorded", { clock: { isSkewed: true, skewMs: 61_000 } }],
    ["nothing is observed", { vitals: { signals: {} } }],
  ])("while %s", (_, known) => {
    expect(quietOf(basis(known))).not.toBeNull();
  });
});

describe("a heartbeat", () => {
  const [memory, capacity] = [100 * 2 ** 20, 8 * GIB];
  const errors = { network: ["cni plugin not initialized"], runtime: [] };
  const known: Partial<QuietBasis> = {
    vitals: { ...CALM, errors, oomKills: 3 },
    ...remembering({ oom: { kills: 3, bootID: "b-1" } }),
  };
  const said = (more: Partial<Vitals> = {}): Vitals => ({ ...CALM, errors, oomKills: 3, ...more });
  const saw = (signals: Vitals["signals"]) => said({ signals: { ...CALM.signals, ...signals } });

  test.each<[situation: string, isQuiet: boolean, vitals: Vitals]>([
    ["with the same", true, said()],
    ["with the same, in other objects", true, structuredClone(said())],
    ["with exactly a threshold available", true, saw({ "memory.available": [memory, capacity] })],
    ["with one byte less", false, saw({ "memory.available": [memory - 1, capacity] })],
    ["with nothing", false, saw({ "memory.available": [0, capacity] })],
    ["with more than its capacity", true, saw({ "memory.available": [2 * capacity, capacity] })],
    ["without a threshold, and with nothing available", true, saw({ "pid.available": [0, 32_768] })],
    ["of another capacity", false, saw({ "memory.available": [4 * GIB, capacity + 1] })],
    ["with one more signal", false, saw({ "imagefs.available": [50 * GIB, 100 * GIB] })],
    ["with one signal less", false, said({ signals: without("pid.available").signals })],
    ["with one error less", false, said({ errors: { runtime: [] } })],
    ["with one error more", false, said({ errors: { ...errors, storage: ["gone"] } })],
    ["with another error", false, said({ errors: { ...errors, network: ["gone"] } })],
    [
      "with an error twice",
      false,
      said({ errors: { ...errors, network: [...errors.network, ...errors.network] } }),
    ],
    ["with no errors", false, said({ errors: undefined })],
    ["with a shutdown", false, said({ shuttingDown: true })],
    ["with one more kill", false, said({ oomKills: 4 })],
    ["with kills counted from zero again", false, said({ oomKills: 0 })],
    ["with an unknown number of kills", false, said({ oomKills: undefined })],
    ["with a setup error", false, said({ setupError: "no cgroups" })],
    ["with drop-ins that have run", false, said({ remainingSeconds: {} })],
  ])("%s → %s", (_, expected, vitals) => {
    expect(isQuiet(quietAfter(basis(known)), vitals, 0)).toBe(expected);
  });

  test.each([
    ["ahead by the tolerance", true, 60_000],
    ["ahead by a millisecond more", false, 60_001],
    ["behind by the tolerance", true, -60_000],
    ["behind by a millisecond more", false, -60_001],
    ["off by an unknown amount", false, Number.NaN],
  ])("of a clock that is off: %s → %s", (_, expected, skewMs) => {
    expect(isQuiet(quietAfter(basis()), CALM, skewMs)).toBe(expected);
  });

  test.each<
    [
      situation: string,
      isQuiet: boolean,
      before: Record<string, number> | undefined,
      now: Record<string, number> | undefined,
    ]
  >([
    ["ten seconds later", true, left(300, 60), left(290, 50)],
    ["that was reported again", true, left(241, 1), left(300, 60)],
    ["in its last second", true, left(300, 60), left(241, 1)],
    ["that has expired", false, left(300, 60), left(240, 0)],
    ["that is no longer listed", false, left(300, 60), { RaidDegraded: 300 }],
    ["that stays expired", true, left(300, 0), { RaidDegraded: 290 }],
    ["that had expired, and is reported again", false, { RaidDegraded: 300 }, left(300, 60)],
    ["next to one that no drop-in has", true, left(300, 60), { ...left(300, 60), Gone: 0 }],
    ["before the drop-ins have run", true, undefined, undefined],
    ["once the drop-ins have run", false, undefined, left(300, 60)],
    ["of a shim that no longer reports the time", false, left(300, 60), undefined],
  ])("with a drop-in's condition %s → %s", (_, expected, before, remainingSeconds) => {
    const quiet = quietAfter(withDropIns(before));
    expect(isQuiet(quiet, { ...CALM, ...(remainingSeconds && { remainingSeconds }) }, 0)).toBe(expected);
  });
});

describe("quiet lasts", () => {
  const five = 1000 * GATEWAY_LIMITS.quietSeconds;
  test.each<
    [situation: string, told: Record<string, number> | undefined, statusDueInMs: number, forMs: number]
  >([
    ["five minutes at most", undefined, 3_600_000, five],
    ["until the status is due", undefined, 123_456, 123_456],
    ["in whole milliseconds, so that it is not late", undefined, 123_456.789, 123_456],
    ["not at all once the status is due", undefined, -1, 0],
    ["until a heartbeat before the first condition expires", left(300, 60), 300_000, 50_000],
    ["not at all where one expires before", left(300, 9), 300_000, 0],
    ["for any condition that has expired already", { RaidDegraded: 300 }, 300_000, 290_000],
  ])("%s", (_, remainingSeconds, statusDueInMs, forMs) => {
    const known = withDropIns(remainingSeconds);
    expect(quietForMs(quietAfter(known), known.vitals, { statusDueInMs, intervalMs: 10_000 })).toBe(forMs);
  });
});

const anyAmount = fc.oneof(
  fc.constantFrom(
    "0.5",
    "100m",
    "1",
    "1e3",
    "5k",
    "1.5Gi",
    "0.3Gi",
    "9007199254740991",
    "9007199254740992",
    "9Ei",
    "1e30",
    "1n",
    "12345678901234567890123m",
  ),
  fc
    .tuple(fc.integer({ min: 1, max: 9999 }), fc.constantFrom("", "k", "Ki", "Mi", "M", "m"))
    .map((parts) => parts.join("")),
);
const anyPercentage = fc.oneof(
  fc.constantFrom("10%", "15%", "5%", "99.99999%", "0.1%", "33.333%", "100%", "0%", "1e-7%"),
  fc.float({ min: 0, max: 100, noNaN: true }).map((percent) => `${percent.toFixed(4)}%`),
);
const anyThreshold = fc.oneof(anyAmount, anyPercentage);
const anyCapacity = fc.oneof(
  fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  fc.constantFrom(0, 1, 1000, 8 * GIB, 270_553_174_016, Number.MAX_SAFE_INTEGER),
);
const anyThresholds = fc.dictionary(fc.constantFrom(...SIGNALS), anyThreshold, { maxKeys: SIGNALS.length });
const anySettings = fc
  .record({ evictionHard: anyThresholds, evictionSoft: anyThresholds, evictionMinimumReclaim: anyThresholds })
  .map(({ evictionSoft, ...thresholds }): Settings => {
    const evictionSoftGracePeriod = Object.fromEntries(
      Object.keys(evictionSoft).map((name) => [name, "1m30s"]),
    );
    return { ...SETTINGS, ...thresholds, evictionSoft, evictionSoftGracePeriod };
  })
  .filter((settings) => settingsSchema.safeParse(settings).success);

describe("for any thresholds, with the least amount at which none is met", () => {
  it("is quiet; one unit less is not", () => {
    let edges = 0;
    const property = fc.property(
      anySettings,
      fc.constantFrom(...SIGNALS),
      anyCapacity,
      (settings, name, capacity) => {
        const least = leastCalm(settings, name, capacity);
        const with_ = (available: number): Vitals => ({ signals: { [name]: [available, capacity] } });
        const facts = { settings, machine: MACHINE };
        const memory = { ...NOTHING_REMEMBERED, imageFilesystem: { hasNoCapacity: capacity === 0 } };
        const of = (available: number) => quietOf(basis({ facts, memory, vitals: with_(available) }));
        if (least > 0) expect(of(Math.min(least, Number.MAX_SAFE_INTEGER + 1) - 1)).toBeNull();
        if (least > Number.MAX_SAFE_INTEGER) return;
        const quiet = of(least);
        expect(quiet?.signals).toEqual({ [name]: { capacity, from: least, to: Number.MAX_SAFE_INTEGER } });
        expect(isQuiet(quiet!, with_(least), 0)).toBe(true);
        expect(isQuiet(quiet!, with_(Number.MAX_SAFE_INTEGER), 0)).toBe(true);
        if (least === 0) return;
        edges++;
        expect(isQuiet(quiet!, with_(least - 1), 0)).toBe(false);
      },
    );
    fc.assert(property, { numRuns: 500 });
    expect(edges).toBeGreaterThan(100);
  });
});

describe("a machine's clock", () => {
  describe("nothing is recorded", () => {
    test.each<
      [situation: string, isSkewed: boolean, recordedMs: number, range: readonly [number, number] | null]
    >([
      ["of a clock that is right", false, 0, [-60_000, 60_000]],
      ["of one that is a little ahead", true, 60_000, [60_001, 120_000]],
      ["of one that is far ahead", true, 3_600_000, [1_800_000, 5_400_000]],
      ["of one that is an odd number of seconds ahead", true, 121_000, [60_500, 181_500]],
      ["of one that is behind", true, -61_000, [-121_000, -60_001]],
      ["of one that is far behind", true, -3_600_000, [-5_400_000, -1_800_000]],
      ["of no clock, if the recorded amount is unknown", true, 0, null],
    ])("%s", (_, isSkewed, skewMs, range) => {
      expect(unrecordedSkewMs({ isSkewed, skewMs })).toEqual(range);
      if (!range) return;
      const [from, to] = range;
      const isRecorded = (nowMs: number) =>
        Math.abs(nowMs) > MAX_SKEW_MS !== isSkewed || (isSkewed && isOtherSkew(nowMs, skewMs));
      expect([from - 1, from, to, to + 1].map(isRecorded)).toEqual([true, false, false, true]);
    });
  });
});
