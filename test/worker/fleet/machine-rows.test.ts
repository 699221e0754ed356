// Tests the machines' rows in the fleet index: each update is stored once and in order, even if the update is
// repeated or late.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FLEET_HISTORY_LIMITS, MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { FLEET_START_MS, machineName, stateEntry, summaryOf, updateOf } from "../support/made-up-fleet.ts";

let objects = 0;
/** Calls `work` with the rows of an empty fleet index. */
function inIndex<T>(work: (rows: MachineRows, sql: SqlStorage) => T): Promise<T> {
  const stub = env.INDEX.getByName(`rows-${objects++}`);
  return runInDurableObject(stub, (_, { storage }) => work(new MachineRows(storage.sql), storage.sql));
}

const SILENT = stateEntry(2, "ready", "silent", FLEET_START_MS + 60_000);

describe("an update", () => {
  it("of a new machine → its row, and its lines of history", () =>
    inIndex((rows, sql) => {
      const { until, change } = rows.take(updateOf(1, 10, {}, [SILENT]));
      expect(until).toEqual({ entryId: 2 });
      expect(change).toEqual({
        name: machineName(1),
        seq: 1,
        before: null,
        after: summaryOf(1),
        entries: [SILENT],
      });
      expect(rows.summary(machineName(1))).toEqual(summaryOf(1));
      expect(sql.exec("SELECT name, kind, text FROM history").toArray()).toEqual([
        { name: machineName(1), kind: "state", text: "ready → silent" },
      ]);
    }));

  it("that changes something → before and after", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 10));
      const { change } = rows.take(updateOf(1, 11, { state: "silent" }));
      expect([change?.before?.state, change?.after?.state, change?.seq]).toEqual(["ready", "silent", 2]);
    }));

  it("twice → stored once", () =>
    inIndex((rows, sql) => {
      rows.take(updateOf(1, 10, {}, [SILENT]));
      expect(rows.take(updateOf(1, 10, {}, [SILENT]))).toEqual({ until: { entryId: 2 }, change: null });
      expect(sql.exec("SELECT * FROM history").toArray()).toHaveLength(1);
      expect(rows.seq()).toBe(1);
    }));

  it("without a change → no change is counted; the update before it is out of date all the same", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 10, {}, [SILENT]));
      expect(rows.take(updateOf(1, 12, {}, [SILENT]))).toEqual({ until: { entryId: 2 }, change: null });
      expect(rows.take(updateOf(1, 11, { state: "silent" })).change).toBeNull();
      expect([rows.summary(machineName(1)), rows.seq()]).toEqual([summaryOf(1), 1]);
      expect(rows.take(updateOf(1, 13, { state: "silent" })).change?.seq).toBe(2);
    }));

  it("with the same content by a newer pin → a change", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 10));
      expect(rows.take({ ...updateOf(1, 5), generation: 2 }).change?.seq).toBe(2);
    }));

  it("whose answer was lost, repeated with further lines → only the new lines are added", () =>
    inIndex((rows, sql) => {
      rows.take(updateOf(1, 10, {}, [SILENT]));
      const back = stateEntry(3, "silent", "ready", FLEET_START_MS + 90_000);
      expect(rows.take(updateOf(1, 11, {}, [SILENT, back])).change?.entries).toEqual([back]);
      expect(sql.exec("SELECT text FROM history ORDER BY id").toArray()).toEqual([
        { text: "ready → silent" },
        { text: "silent → ready" },
      ]);
    }));

  it("that is late → changes nothing", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 11, { state: "silent" }));
      expect(rows.take(updateOf(1, 10)).change).toBeNull();
      expect(rows.summary(machineName(1))?.state).toBe("silent");
    }));

  it("of a newer pin → its history begins again; of an older pin → changes nothing", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 10, {}, [SILENT]));
      const first = stateEntry(1, "not-ready", "ready", FLEET_START_MS);
      const newer = rows.take({ ...updateOf(1, 5, {}, [first]), generation: 2 });
      expect([newer.change?.entries, newer.until]).toEqual([[first], { entryId: 1 }]);
      expect(rows.take(updateOf(1, 99, { state: "silent" })).change).toBeNull();
    }));
});

describe("history of all machines, when it is full", () => {
  it.each([
    ["one line each", 1, 30],
    ["many lines each", 200, 5],
  ])("tellings of %s → the oldest lines go, and no more are kept", (_, each, tellings) =>
    inIndex((rows, sql) => {
      const { lines, prunedEvery } = FLEET_HISTORY_LIMITS;
      sql.exec(
        `WITH RECURSIVE line(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM line WHERE id < ?)
         INSERT INTO history SELECT id, 0, 'x', 'state', '' FROM line`,
        lines,
      );
      for (let index = 0; index < tellings; index++) {
        const entries = Array.from({ length: each }, (__, at) => stateEntry(at + 1, "ready", "silent", 1));
        rows.take(updateOf(index, 1, {}, entries));
      }
      const query = "SELECT COUNT(*) AS count, MIN(id) AS first, MAX(id) AS last FROM history";
      const { count, first, last } = sql.exec<{ count: number; first: number; last: number }>(query).one();
      expect(last).toBe(lines + each * tellings);
      expect(first).toBe(last - count + 1);
      expect(count).toBeGreaterThanOrEqual(lines);
      expect(count).toBeLessThan(lines + prunedEvery);
    }),
  );
});

describe("a removed machine", () => {
  it("→ its row is deleted, one line of history has that, and a late update does not restore it", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 10));
      const change = rows.remove(machineName(1), 1, FLEET_START_MS, "left");
      expect([change?.before?.state, change?.after, change?.entries.at(0)?.text]).toEqual([
        "ready",
        null,
        "left",
      ]);
      expect(rows.remove(machineName(1), 1, FLEET_START_MS, "left")).toBeNull();
      expect(rows.take(updateOf(1, 11)).change).toBeNull();
      expect(rows.summary(machineName(1))).toBeNull();
      expect(rows.take({ ...updateOf(1, 12), generation: 2 }).change?.before).toBeNull();
    }));

  it("whose name another machine has taken → the other one stays", () =>
    inIndex((rows) => {
      rows.take({ ...updateOf(1, 10), generation: 2 });
      expect(rows.remove(machineName(1), 1, FLEET_START_MS, "left")).toBeNull();
      expect(rows.summary(machineName(1))).not.toBeNull();
    }));
});

it("the counts follow each new, changed and removed machine", () =>
  inIndex((rows) => {
    const counts: [number, unknown][] = [];
    const count = () => counts.push([rows.count(), rows.counts()]);
    count();
    for (const index of [1, 2]) rows.take(updateOf(index, 1));
    count();
    rows.take(updateOf(1, 2, { state: "silent" }));
    rows.take(updateOf(1, 3, { state: "silent" }));
    count();
    rows.remove(machineName(1), 1, FLEET_START_MS, "left");
    count();
    expect(counts).toEqual([
      [0, {}],
      [2, { ready: 2 }],
      [2, { ready: 1, silent: 1 }],
      [1, { ready: 1, silent: 0 }],
    ]);
  }));
