// Tests quiet heartbeats, which a gateway answers by itself: a machine's Node, its events and its object's data
// must be the same as with full reports, at every later time.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, it, test, vi } from "vitest";
import { LentMachine, type Said } from "../worker/support/lent-machine.ts";
import {
  anyConfiguration,
  anyHappenings,
  AT_EACH_EDGE,
  type Configuration,
  type Happening,
  heartbeatsOf,
} from "../worker/support/modelled-machine.ts";

interface Run {
  /** The machine's data after each heartbeat, as JSON. */
  known: string[];
  /** The number of heartbeats that needed no full report. */
  quiet: number;
}

/** Sends the heartbeats to a new machine's object. `isLent`: true if a gateway answers quiet heartbeats. */
function run(said: readonly Said[], isLent: boolean): Promise<Run> {
  return runInDurableObject(env.NODES.getByName("quiet-heartbeats"), async (_, { storage }) => {
    for (const table of ["records", "history", "outbox", "migrations"])
      storage.sql.exec(`DROP TABLE IF EXISTS ${table}`);
    const machine = new LentMachine(storage);
    const run: Run = { known: [], quiet: 0 };
    for (const each of said) {
      if (isLent && (await machine.heartbeat(each))) run.quiet++;
      else await machine.report(each);
      run.known.push(JSON.stringify(machine.known()));
    }
    return run;
  });
}

/**
 * Runs the same heartbeats with and without a gateway and compares the data. `known`: the data after the last
 * heartbeat.
 */
async function comparison(configuration: Configuration, happenings: readonly Happening[]) {
  const said = heartbeatsOf(configuration, happenings);
  const reported = await run(said, false);
  const lent = await run(said, true);
  // The data are compared as texts first, since a comparison of objects would take most of the test's time.
  const differs = reported.known.findIndex((text, at) => text !== lent.known[at]);
  if (differs >= 0) expect(JSON.parse(lent.known[differs]!)).toEqual(JSON.parse(reported.known[differs]!));
  return { heartbeats: said.length, quiet: lent.quiet, known: lent.known.at(-1)! };
}

beforeEach(() => void vi.spyOn(console, "log").mockReturnValue());
afterEach(() => void vi.restoreAllMocks());

it("any events of a machine → the same as with full reports only", async () => {
  const all = { heartbeats: 0, quiet: 0 };
  const property = fc.asyncProperty(anyConfiguration, anyHappenings, async (configuration, happenings) => {
    const { heartbeats, quiet } = await comparison(configuration, happenings);
    all.heartbeats += heartbeats;
    all.quiet += quiet;
  });
  await fc.assert(property, { numRuns: 20 });
  expect(all.quiet / all.heartbeats).toBeGreaterThan(0.3);
});

it("pressure that begins at the exact edge of a threshold → the same, and quiet up to that edge", async () => {
  const settings = { evictionPressureTransitionPeriodMs: 30_000 };
  const configuration: Configuration = { settings, everyMs: "spread", expiresInSeconds: null };
  const { heartbeats, quiet, known } = await comparison(configuration, AT_EACH_EDGE);
  // The first two heartbeats need full reports, which have the facts. Each of the five signals needs one for the
  // heartbeat below the threshold, and for all heartbeats of the next 30 s.
  expect({ heartbeats, quiet }).toEqual({ heartbeats: 120, quiet: 120 - 2 - 5 * 5 });
  const began = (reason: string) => known.split(`"reason":"${reason}"`).length - 1;
  expect([began("NodeHasInsufficientMemory"), began("NodeHasDiskPressure")]).toEqual([1, 4]);
});

const clocks = [
  0, 60_000, 60_001, 60_000, 61_000, 120_500, 121_000, 121_001, 182_000, 60_500, 60_000, -60_001, -60_000,
];
test.each<[situation: string, settings: Configuration["settings"], happenings: Happening[]]>([
  [
    "a clock at each edge of what is recorded",
    {},
    clocks.map((skewMs) => ({ kind: "clock", skewMs, beats: 3 })),
  ],
  [
    "a file system for images that loses its capacity, without a threshold, and gets it back",
    { evictionHard: {} },
    [8 * 2 ** 30, 0, 8 * 2 ** 30, 0].map((capacity) => ({
      kind: "capacity",
      signal: "imagefs.available",
      capacity,
      beats: 3,
    })),
  ],
])("%s → the same, and most of it quiet", async (_, settings, happenings) => {
  const configuration: Configuration = { settings, everyMs: "spread", expiresInSeconds: {} };
  const { heartbeats, quiet } = await comparison(configuration, [{ kind: "calm", beats: 3 }, ...happenings]);
  expect(quiet / heartbeats).toBeGreaterThan(0.5);
});

it("a steady machine → every heartbeat is quiet, except for the status", async () => {
  const configuration: Configuration = {
    settings: {},
    everyMs: 10_000,
    expiresInSeconds: { RaidDegraded: 3600 },
  };
  const { heartbeats, quiet } = await comparison(configuration, [{ kind: "calm", beats: 400 }]);
  expect(quiet / heartbeats).toBeGreaterThan(0.95);
});
