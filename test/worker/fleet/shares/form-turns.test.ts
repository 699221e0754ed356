// Tests the turns in which the fleet index allows machines to change the form of their Nodes. Tests the rate of these
// turns, also after an eviction of the fleet index.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { FORM_TURNS, FormTurns } from "../../../../worker/fleet/shares.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06Z");
const EVERY_MS = 1000 / FORM_TURNS.aSecond;

const withTurns = (name: string, act: (open: () => FormTurns, rows: () => number) => void) =>
  runInDurableObject(env.INDEX.getByName(name), (_, { storage: { sql } }) =>
    act(
      () => new FormTurns(sql),
      () => sql.exec("SELECT * FROM index_upkeep").toArray().length,
    ),
  );

test("machines that ask at once → one turn after the other", () =>
  withTurns("turns-at-once", (open) => {
    const turns = open();
    expect([1, 2, 3].map(() => turns.take(NOW_MS))).toEqual([0, EVERY_MS, 2 * EVERY_MS]);
  }));

test("machines that ask rarely → no wait", () =>
  withTurns("turns-seldom", (open) => {
    const turns = open();
    expect([0, EVERY_MS, 5000].map((ms) => turns.take(NOW_MS + ms))).toEqual([0, 0, 0]);
  }));

test("the index is evicted → continues after all given turns, with one row", () =>
  withTurns("turns-evicted", (open, rows) => {
    const before = open();
    const given = Array.from({ length: 25 }, () => before.take(NOW_MS));
    const next = open().take(NOW_MS);
    expect(next).toBeGreaterThan(given.at(-1)!);
    expect(next).toBeLessThanOrEqual(given.at(-1)! + EVERY_MS + 1000);
    expect(rows()).toBe(1);
  }));
