// Tests how many heartbeats of whole days need no full report.
import { describe, expect, it, test } from "vitest";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import { parsedSettings } from "../../shared/from-report/parsed-settings.ts";
import { isQuiet, type Quiet, quietForMs, quietOf } from "../../shared/quiet/quiet.ts";
import { NO_PRESSURE, synchronizeEviction } from "../../shared/resources/eviction.ts";
import { dayText, readDay, vitalsOf } from "./quiet/days/day.ts";
// oxlint-disable import/default -- with ?raw the bundler exports the text
import drifting from "./quiet/days/drifting.txt?raw";
import flapping from "./quiet/days/flapping.txt?raw";
import nearThreshold from "./quiet/days/near-threshold.txt?raw";
import recorded from "./quiet/days/recorded.txt?raw";
import steady from "./quiet/days/steady.txt?raw";
// oxlint-enable import/default
import { basis, SETTINGS } from "./quiet/machine.ts";

const PERIOD_MS = 300_000;
const { thresholds } = parsedSettings(SETTINGS);

/**
 * Yields the heartbeats of a day. `isCalm` is true if there is no pressure before and after the heartbeat, and no
 * threshold is met.
 */
function lived(text: string) {
  const day = readDay(text);
  let eviction = NO_PRESSURE;
  let order: { quiet: Quiet; untilMs: number } | undefined;
  let statusDueMs = 0;
  return vitalsOf(day).map((vitals, at) => {
    const nowMs = at * day.everyMs;
    const wasCalm = eviction === NO_PRESSURE;
    eviction = synchronizeEviction(thresholds, vitals.signals, eviction, nowMs, PERIOD_MS);
    // After a pressure, the empty state is another object than NO_PRESSURE, which is used again.
    if (eviction.conditions.length === 0) eviction = NO_PRESSURE;
    const isCalm = wasCalm && eviction === NO_PRESSURE;
    const isLent = order !== undefined && nowMs < order.untilMs;
    if (isLent && isQuiet(order!.quiet, vitals, 0)) return { isLent, isCalm, isQuiet: true, vitals };
    const isDue = nowMs >= statusDueMs;
    if (isDue) statusDueMs = nowMs + PERIOD_MS;
    const quiet = quietOf(basis({ vitals, memory: { ...NOTHING_REMEMBERED, eviction } }));
    const statusDueInMs = statusDueMs - nowMs;
    const forMs = quiet ? quietForMs(quiet, vitals, { statusDueInMs, intervalMs: 10_000 }) : 0;
    order = quiet ? { quiet, untilMs: nowMs + forMs } : undefined;
    return { isLent, isCalm, isQuiet: false, vitals };
  });
}

const shareOf = <T>(all: readonly T[], is: (one: T) => boolean) => all.filter(is).length / all.length;

describe("a day", () => {
  test.each<[day: string, text: string, heartbeats: number]>([
    ["of a steady machine", steady, 9000],
    ["of one whose memory leaks and whose disk fills up", drifting, 9000],
    ["just above a threshold, and often exactly at it", nearThreshold, 9000],
    ["of a real machine, of which half an hour was recorded while it was busy", recorded, 200],
  ])(
    "%s → each heartbeat is quiet, except for one in five minutes, which writes the status",
    (_, text, heartbeats) => {
      const all = lived(text);
      expect(all.length).toBeGreaterThanOrEqual(heartbeats);
      expect(
        shareOf(
          all.filter(({ isLent }) => isLent),
          (each) => each.isQuiet,
        ),
      ).toBeGreaterThanOrEqual(0.99);
      expect(shareOf(all, (each) => each.isQuiet)).toBeGreaterThan(0.96);
      expect(all.every(({ isCalm }) => isCalm)).toBe(true);
    },
  );

  it("with pressures that start and end → a heartbeat is quiet exactly while the machine is calm", () => {
    const all = lived(flapping);
    expect(all.filter(({ isLent, isCalm, isQuiet: is }) => is !== (isLent && isCalm))).toEqual([]);
    // The Worker grants no quiet time under pressure. On a calm machine, quiet time ends only when the status is
    // due.
    expect(
      shareOf(
        all.filter(({ isCalm }) => isCalm),
        (each) => each.isQuiet,
      ),
    ).toBeGreaterThan(0.96);
    const begins = all.filter(({ isCalm }, at) => !isCalm && all[at - 1]?.isCalm);
    expect(begins.length).toBeGreaterThan(5);
    expect(shareOf(all, (each) => each.isCalm)).toBeLessThan(0.95);
  });
});

it("a day's text is parsed as it was written, and none takes 100 KB", () => {
  for (const text of [steady, drifting, nearThreshold, flapping, recorded]) {
    expect(dayText(readDay(text))).toBe(text);
    expect(text.length).toBeLessThan(100_000);
  }
});
