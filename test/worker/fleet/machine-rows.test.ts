// Tests the machines' rows in the fleet index: each update is stored once and in order, even if the update is
// repeated or late.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FLEET_HISTORY_LIMITS, MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { HeldBack } from "../../../worker/fleet/shares.ts";
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

describe("a sequel, which has only what is new", () => {
  const sequel = (generation: number, entries: (typeof SILENT)[]) => ({
    ...updateOf(1, 10, {}, entries),
    generation,
    isSequel: true as const,
  });

  it("of a machine that the index does not know → the object must send everything", () =>
    inIndex((rows) => {
      expect(rows.take(sequel(1, [SILENT]))).toEqual({ until: { entryId: 0 }, change: null });
      expect(rows.summary(machineName(1))).toBeNull();
    }));

  it("of a known machine → stored", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 9));
      expect(rows.take(sequel(1, [SILENT]))).toMatchObject({ until: { entryId: 2 }, change: { seq: 2 } });
    }));

  it.each([
    ["with a line → the object deletes it", [SILENT], 2],
    ["without a line → the object deletes none", [], 0],
  ])("of a removed machine, %s", (_, entries, entryId) =>
    inIndex((rows) => {
      rows.take(updateOf(1, 9));
      rows.remove(machineName(1), 1, FLEET_START_MS, "left");
      expect(rows.take(sequel(1, entries))).toEqual({ until: { entryId }, change: null });
    }),
  );
});

describe("history of all machines, when it is full", () => {
  const DAY_MS = 24 * 3600_000;
  const NOW = FLEET_START_MS + 10 * DAY_MS;
  const { lines, prunedEvery, linesADayOfToken } = FLEET_HISTORY_LIMITS;

  /** Adds lines of history: one of each machine in turn, the oldest at `fromMs`. */
  const fill = (
    sql: SqlStorage,
    {
      token,
      machines,
      lines: count,
      fromMs,
    }: Record<"machines" | "lines" | "fromMs", number> & { token: string },
  ) =>
    sql.exec(
      `WITH RECURSIVE line(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM line WHERE n < ?1 - 1)
       INSERT INTO history (at_ms, name, kind, text, token)
       SELECT ?2, ?3 || '-' || (n % ?4), 'state', '', ?3 FROM line`,
      count,
      fromMs,
      token,
      machines,
    );
  /** Adds the line of history whose ID makes the index delete old lines. */
  const prune = (rows: MachineRows, sql: SqlStorage) => {
    const last = sql.exec<{ id: number }>("SELECT MAX(id) AS id FROM history").one().id;
    const next = Math.ceil((last + 2) / prunedEvery) * prunedEvery;
    sql.exec("INSERT INTO history VALUES (?, ?, 'last', 'state', '', 'token-0')", next - 1, NOW);
    rows.take(updateOf(1, 1, {}, [stateEntry(1, "ready", "silent", NOW)]));
  };
  const count = (sql: SqlStorage, where = "1", ...bindings: string[]) =>
    sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM history WHERE ${where}`, ...bindings).one().n;
  const OLD = { token: "fleet", machines: 300, lines, fromMs: FLEET_START_MS };

  it("lines of one token → the oldest go, and the limit stays", () =>
    inIndex((rows, sql) => {
      fill(sql, OLD);
      // A deletion reads all lines, so only one new line of many is followed by one.
      rows.take(updateOf(2, 1, {}, [SILENT]));
      expect(count(sql)).toBe(lines + 1);
      prune(rows, sql);
      expect(count(sql)).toBe(lines);
      expect(count(sql, "id <= 3")).toBe(0);
      expect(count(sql, "id > 3")).toBe(lines);
    }));

  it.each<[string, Parameters<typeof fill>[1][], token: string, least: number]>([
    [
      "137 names of one token write 30,000 lines at once → a tenth of the others' lines goes",
      [OLD, { token: "flood", machines: 137, lines: 30_000, fromMs: NOW }],
      "fleet",
      lines - linesADayOfToken - 2,
    ],
    [
      "they write as many each day → the others keep half",
      [
        OLD,
        { ...OLD, token: "flood", machines: 137, lines: 40_000 },
        { token: "flood", machines: 137, lines: 30_000, fromMs: NOW },
      ],
      "fleet",
      lines / 2 - 2,
    ],
    [
      "a token with few lines, the oldest → it keeps all",
      [{ token: "site", machines: 3, lines: 2000, fromMs: FLEET_START_MS }, OLD],
      "site",
      2000,
    ],
    [
      "300 machines of a site flap at once, twenty lines each → all of these stay",
      [OLD, { token: "site", machines: 300, lines: 6000, fromMs: NOW }],
      "site",
      6000,
    ],
    [
      "a day's lines of a token: as many as may displace others' → all stay",
      [OLD, { token: "site", machines: 300, lines: linesADayOfToken, fromMs: NOW }],
      "site",
      linesADayOfToken,
    ],
  ])("%s", (_, fills, token, least) =>
    inIndex((rows, sql) => {
      for (const each of fills) fill(sql, each);
      prune(rows, sql);
      expect(count(sql)).toBe(lines);
      expect(count(sql, "token = ?", token)).toBeGreaterThanOrEqual(least);
    }),
  );

  it("one line more in a day than may displace others' → that one goes", () =>
    inIndex((rows, sql) => {
      fill(sql, OLD);
      fill(sql, { token: "site", machines: 300, lines: linesADayOfToken + 1, fromMs: NOW });
      prune(rows, sql);
      expect(count(sql, "token = 'site'")).toBe(linesADayOfToken);
    }));

  it("one machine writes half of its token's lines → it loses its own lines alone", () =>
    inIndex((rows, sql) => {
      fill(sql, { ...OLD, lines: lines / 2 });
      fill(sql, { ...OLD, token: "flapping", machines: 1, lines: lines / 2 });
      sql.exec("UPDATE history SET token = 'fleet'");
      fill(sql, { token: "site", machines: 1, lines: 5000, fromMs: NOW });
      prune(rows, sql);
      expect(count(sql, "name LIKE 'fleet-%'")).toBe(lines / 2);
    }));

  it.each<[string, Parameters<typeof fill>[1][], string[]]>([
    ["one token alone → nothing, since its oldest lines go", [OLD, { ...OLD, lines: 5000 }], []],
    [
      "a token that loses newer lines than others keep → its name",
      [OLD, { ...OLD, token: "flood", lines: 20_000, fromMs: NOW }],
      ["flood"],
    ],
  ])("operators see of %s", (_, fills, expected) =>
    inIndex((rows, sql) => {
      for (const each of fills) fill(sql, each);
      sql.exec("UPDATE history SET token = 'token-0' WHERE token = 'fleet'");
      prune(rows, sql);
      expect(new HeldBack(sql).list(NOW).map(({ what, who }) => `${what} ${who}`)).toEqual(
        expected.map((who) => `history ${who}`),
      );
    }),
  );
});

describe("a removed machine", () => {
  it("→ its row is deleted, one line of history has that, and a late update does not restore it", () =>
    inIndex((rows, sql) => {
      rows.take(updateOf(1, 10, {}, [SILENT]));
      const change = rows.remove(machineName(1), 1, FLEET_START_MS, "left");
      expect(change).toMatchObject({
        before: { state: "ready" },
        after: null,
        entries: [{ id: 3, atMs: FLEET_START_MS, kind: "registration", text: "left" }],
      });
      expect(sql.exec("SELECT text FROM history WHERE kind = 'registration'").toArray()).toEqual([
        { text: "left" },
      ]);
      expect(sql.exec("SELECT * FROM summaries").toArray()).toEqual([]);
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

it.each([
  ["the same labels in another order → they share the set of labels", "label_set", { b: "2", a: "1" }],
  ["the same values of other labels → they share the set of words", "word_set", { a: "2", b: "1" }],
])("two machines have %s", (_, column, labels) =>
  inIndex((rows, sql) => {
    rows.take(updateOf(1, 1, { labels: { a: "1", b: "2" } }));
    rows.take(updateOf(2, 1, { labels }));
    expect(sql.exec(`SELECT DISTINCT ${column} FROM machines`).toArray()).toHaveLength(1);
  }),
);

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

describe("the machines of each feature rule", () => {
  const matches = (rows: MachineRows) =>
    Object.fromEntries(rows.ruleMatches().map(({ rule, machines }) => [rule, machines]));

  it("follow each new, changed, returning and removed machine", () =>
    inIndex((rows) => {
      rows.take(updateOf(1, 1, { rules: ["gpu/a", "gpu/b"] }));
      rows.take(updateOf(2, 1, { rules: ["gpu/b", "gpu/b"] }));
      rows.take(updateOf(3, 1));
      expect(matches(rows)).toEqual({ "gpu/a": 1, "gpu/b": 2 });
      rows.take(updateOf(1, 2, { rules: ["gpu/b", "gpu/c"] }));
      rows.take(updateOf(3, 2, { rules: ["gpu/c"] }));
      expect(matches(rows)).toEqual({ "gpu/b": 2, "gpu/c": 2 });
      rows.take({ ...updateOf(2, 1), generation: 2 });
      rows.remove(machineName(3), 1, FLEET_START_MS, "left");
      expect(matches(rows)).toEqual({ "gpu/b": 1, "gpu/c": 1 });
    }));

  it("whose rules stay → no row is written for them", () =>
    inIndex((rows, sql) => {
      const written = () => sql.exec<{ count: number }>("SELECT total_changes() AS count").one().count;
      const rowsOf = (update: () => unknown) => {
        const before = written();
        update();
        return written() - before;
      };
      const rules = ["gpu/a"];
      rows.take(updateOf(1, 1, { rules }));
      rows.take(updateOf(2, 1));
      const withRules = rowsOf(() => rows.take(updateOf(1, 2, { rules, skewMs: 90_000 })));
      expect(withRules).toBe(rowsOf(() => rows.take(updateOf(2, 2, { skewMs: 90_000 }))));
    }));
});
