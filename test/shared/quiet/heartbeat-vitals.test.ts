// Tests the vitals of heartbeats: the gateway restores the shim's vitals exactly, or a full report is needed.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { type HeartbeatFrame, heartbeatSchema } from "../../../shared/protocol/frames.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import { expanded, type HeartbeatVitals, shortened } from "../../../shared/quiet/heartbeat-vitals.ts";
import { isQuiet, quietOf } from "../../../shared/quiet/quiet.ts";
import { basis, CALM, GIB } from "./machine.ts";

/** Encodes and decodes a heartbeat's vitals, as between shim and gateway. */
function sent(vitals: HeartbeatVitals): HeartbeatFrame {
  return heartbeatSchema.parse(JSON.parse(JSON.stringify({ type: "heartbeat", n: 1, at: 0, ...vitals })));
}

const anyCount = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const anyTexts = fc.array(fc.constantFrom("gone", "cni plugin not initialized"), { maxLength: 2 });
const anyVitals: fc.Arbitrary<Vitals> = fc.record(
  {
    signals: fc.dictionary(fc.constantFrom(...SIGNALS), fc.tuple(anyCount, fc.constantFrom(0, GIB))),
    errors: fc.record({ runtime: anyTexts, network: anyTexts, storage: anyTexts }, { requiredKeys: [] }),
    shuttingDown: fc.boolean(),
    oomKills: fc.nat({ max: 1 }),
    remainingSeconds: fc.dictionary(fc.constantFrom("RaidDegraded", "DoorOpen"), fc.nat({ max: 300 })),
  },
  { requiredKeys: ["signals"] },
);
/** Generates vitals that differ from `base` only in the amounts. */
const anyLater = (base: Vitals) =>
  fc
    .record({ amounts: fc.array(anyCount, { minLength: 6, maxLength: 6 }), left: fc.nat({ max: 300 }) })
    .map(({ amounts, left }): Vitals => {
      const signals: Vitals["signals"] = {};
      for (const [at, name] of SIGNALS.entries()) {
        const [, capacity] = base.signals[name] ?? [];
        if (capacity !== undefined) signals[name] = [amounts[at]!, capacity];
      }
      const told = Object.keys(base.remainingSeconds ?? {}).map((type) => [type, left] as const);
      return {
        ...base,
        signals,
        ...(base.remainingSeconds && { remainingSeconds: Object.fromEntries(told) }),
      };
    });

describe("shortened and expanded", () => {
  it("are the same again, for any remaining seconds", () => {
    fc.assert(
      fc.property(
        anyVitals.chain((base) => fc.tuple(fc.constant(base), anyLater(base))),
        ([base, vitals]) => {
          const short = shortened(vitals, base);
          expect(short).not.toBeNull();
          expect(expanded(sent(short!), base)).toEqual(vitals);
        },
      ),
    );
  });

  it("are the same again, or a full report is needed", () => {
    fc.assert(
      fc.property(anyVitals, anyVitals, (base, vitals) => {
        const short = shortened(vitals, base);
        if (short) expect(expanded(sent(short), base)).toEqual(vitals);
      }),
    );
  });
});

const said = (more: Partial<Vitals>): Vitals => ({ ...CALM, ...more });
const saw = (signals: Vitals["signals"]) => said({ signals: { ...CALM.signals, ...signals } });

describe("a heartbeat contains", () => {
  test.each<[situation: string, short: object, vitals: Vitals]>([
    ["amounts in the order of signals", {}, CALM],
    [
      "the remaining validity of conditions",
      { remainingSeconds: { RaidDegraded: 7 } },
      said({ remainingSeconds: { RaidDegraded: 7 } }),
    ],
    ["that there is no condition", { remainingSeconds: {} }, said({ remainingSeconds: {} })],
  ])("%s", (_, more, vitals) => {
    const available = [4 * GIB, 50 * GIB, null, null, null, 30_000];
    expect(shortened(vitals, CALM)).toEqual({ available, ...more });
  });
});

describe("a full report is needed", () => {
  const { "pid.available": _, ...fewer } = CALM.signals;
  test.each<[situation: string, vitals: Vitals, base?: Vitals]>([
    ["for another capacity", saw({ "memory.available": [4 * GIB, 8 * GIB - 1] })],
    ["for a signal that is not observed any more", said({ signals: fewer })],
    ["for one that is observed now", CALM, said({ signals: fewer })],
    ["for an error", said({ errors: { runtime: ["gone"] } })],
    ["for the end of an error", CALM, said({ errors: { runtime: ["gone"] } })],
    ["for a shutdown", said({ shuttingDown: true })],
    ["for an OOM kill", said({ oomKills: 4 }), said({ oomKills: 3 })],
    ["for a counter that cannot be read any more", CALM, said({ oomKills: 3 })],
    ["for a setup error", said({ setupError: "no cgroups" })],
    ["after a setup error", CALM, said({ setupError: "no cgroups" })],
  ])("%s", (__, vitals, base = CALM) => {
    expect(shortened(vitals, base)).toBeNull();
    expect(shortened(base, base)).toEqual(base.setupError === undefined ? expect.anything() : null);
  });
});

it("a signal that the report did not have is not quiet, for any amount", () => {
  const vitals = expanded({ available: [4 * GIB, 50 * GIB, null, 50 * GIB, null, 30_000] }, CALM);
  expect(vitals.signals["imagefs.available"]).toEqual([50 * GIB, 0]);
  expect(isQuiet(quietOf(basis())!, vitals, 0)).toBe(false);
});
