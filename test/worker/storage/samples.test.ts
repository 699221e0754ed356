// Tests that samples are stored in rows that are written in any case, outlive an eviction, and cost no row and no
// read of their own.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_SAMPLES } from "../../../shared/fleet/samples.ts";
import { NodeObject } from "../../../worker/machine/node-object.ts";
import { nodeRecordStore, type NodeRecords } from "../../../worker/storage/records.ts";
import { machineSamples } from "../../../worker/storage/samples.ts";
import { nodeTables } from "../../../worker/storage/tables.ts";

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const OLD_TABLES = `CREATE TABLE records (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE outbox (id INTEGER PRIMARY KEY, at_micros INTEGER NOT NULL, type TEXT NOT NULL, reason TEXT NOT NULL,
    message TEXT NOT NULL);
  CREATE TABLE history (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL)`;

/** Returns an object's samples and records after a wake-up, and its SQL statements. */
function woken(sql: SqlStorage) {
  const asked: { query: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
  const exec = (query: string, ...bindings: unknown[]) => {
    const cursor = sql.exec(query, ...bindings);
    asked.push({ query, cursor });
    return cursor;
  };
  const counted = { exec } as SqlStorage;
  const tables = nodeTables({ sql: counted, transactionSync: (work) => work() });
  const samples = machineSamples(counted, tables);
  const records = nodeRecordStore(counted, tables, samples);
  const observe = (nowMs: number, free: number) =>
    samples.observe({ signals: { "memory.available": [free, 8000] } }, nowMs);
  const nodeAt = (lastStatusReportTimeMs: number) => ({ lastStatusReportTimeMs }) as NodeRecords["node"];
  /** Stores a changed status, as a tick does. */
  const writeNode = () => records.put("node", nodeAt((records.get("node")?.lastStatusReportTimeMs ?? 0) + 1));
  const read = (nowMs = NOW_MS, sinceMs = 0) =>
    samples.read(sinceMs, nowMs).samples.map(({ atS, available }) => [atS * 1000 - NOW_MS, available[0]]);
  const written = () => asked.reduce((sum, { cursor }) => sum + cursor.rowsWritten, 0);
  return { asked, samples, records, observe, writeNode, read, written };
}

const VALUES: Pick<NodeRecords, "node" | "silentSinceMs" | "skewMs"> = {
  node: {} as NodeRecords["node"],
  silentSinceMs: 1,
  skewMs: 1,
};

const inObject = <T>(name: string, work: (sql: SqlStorage) => T): Promise<T> =>
  runInDurableObject(env.NODES.getByName(`samples-${name}`), (_, { storage }) => work(storage.sql));

describe("a machine's samples", () => {
  it("→ are in memory at once, without a row", () =>
    inObject("in-memory", (sql) => {
      const object = woken(sql);
      object.observe(NOW_MS - 4 * MINUTE_MS, 5);
      object.observe(NOW_MS, 7);
      expect(object.read()).toEqual([
        [-4 * MINUTE_MS, 5],
        [0, 7],
      ]);
      expect(object.samples.read(0, NOW_MS).capacity?.[0]).toBe(8000);
      expect(object.written()).toBe(0);
    }));

  it.each([
    ["a status that has changed", "node", true],
    ["a silence", "silentSinceMs", true],
    ["another row", "skewMs", false],
  ] as const)("and then %s → in SQLite: %3$s", (_, key, isKept) =>
    inObject(`carried-by-${key}`, (sql) => {
      const object = woken(sql);
      object.observe(NOW_MS, 7);
      object.records.put(key, VALUES[key]);
      expect(woken(sql).read()).toEqual(isKept ? [[0, 7]] : []);
      expect(object.read()).toEqual([[0, 7]]);
    }),
  );

  it("→ each changed status is one row, with or without samples", () =>
    inObject("rows", (sql) => {
      woken(sql).writeNode();
      const object = woken(sql);
      object.writeNode();
      const bare = object.written();
      for (let at = 0; at < 20; at++) object.observe(NOW_MS + at * 3 * MINUTE_MS, at);
      object.writeNode();
      object.observe(NOW_MS + 3600_000, 7);
      object.writeNode();
      expect(object.written()).toBe(3 * bare);
      expect(bare).toBe(1);
    }));

  it("→ an eviction loses those after the last row, and no other", () =>
    inObject("evicted", (sql) => {
      const object = woken(sql);
      object.observe(NOW_MS - 8 * MINUTE_MS, 5);
      object.writeNode();
      object.observe(NOW_MS - 4 * MINUTE_MS, 6);
      expect(woken(sql).read()).toEqual([[-8 * MINUTE_MS, 5]]);
      const next = woken(sql);
      next.observe(NOW_MS, 7);
      next.writeNode();
      expect(woken(sql).read()).toEqual([
        [-8 * MINUTE_MS, 5],
        [0, 7],
      ]);
      expect(woken(sql).samples.read(0, NOW_MS).capacity?.[0]).toBe(8000);
    }));

  it("before and after a row within a minute → one sample, with the lowest values", () =>
    inObject("one-span", (sql) => {
      const object = woken(sql);
      for (const [at, free] of [
        [0, 7],
        [20, 5],
        [40, 6],
      ] as const) {
        object.observe(NOW_MS + at * 1000, free);
        object.writeNode();
      }
      expect(object.read(NOW_MS + MINUTE_MS)).toEqual([[40_000, 5]]);
    }));

  it("with a silence in between → the samples of both rows in one order", () =>
    inObject("two-rows", (sql) => {
      const object = woken(sql);
      for (const at of [0, 4, 8, 12]) {
        object.observe(NOW_MS + at * MINUTE_MS, at);
        if (at % 8 === 0) object.writeNode();
        else object.records.put("silentSinceMs", at);
      }
      expect(object.read(NOW_MS + 12 * MINUTE_MS)).toEqual([0, 4, 8, 12].map((at) => [at * MINUTE_MS, at]));
    }));

  it("every minute for a hundred days → the limit applies, in memory and in SQLite", () =>
    inObject("bounded", (sql) => {
      const object = woken(sql);
      for (let at = 0; at < 100 * DAY_MS; at += 30 * MINUTE_MS) {
        object.observe(NOW_MS + at, 7);
        if (at % DAY_MS === 0) object.writeNode();
      }
      const [row] = sql.exec<{ bytes: number }>("SELECT LENGTH(samples) AS bytes FROM records").toArray();
      expect(row!.bytes).toBeLessThanOrEqual(28 * (1 + MAX_SAMPLES));
      expect(object.read(NOW_MS + 100 * DAY_MS).length).toBeLessThanOrEqual(MAX_SAMPLES);
    }));

  it("with a clock that is set back → in order, and none in the future", () =>
    inObject("put-back", (sql) => {
      const object = woken(sql);
      object.observe(NOW_MS + DAY_MS, 5);
      object.writeNode();
      object.observe(NOW_MS, 7);
      object.writeNode();
      object.observe(NOW_MS + 4 * MINUTE_MS, 6);
      expect(object.read(NOW_MS + 4 * MINUTE_MS)).toEqual([
        [0, 5],
        [4 * MINUTE_MS, 6],
      ]);
    }));
});

describe("another machine that takes the name", () => {
  const ENROLLED = { pinnedAtMs: NOW_MS } as NodeRecords["enrolment"];

  it("→ shows nothing of the former machine, before its first row and after", () =>
    inObject("taken-over", (sql) => {
      const former = woken(sql);
      former.observe(NOW_MS - MINUTE_MS, 1);
      former.writeNode();
      former.observe(NOW_MS, 2);
      former.records.put("enrolment", ENROLLED);
      former.samples.forget();
      expect(former.read(NOW_MS, NOW_MS)).toEqual([]);
      expect(former.samples.read(NOW_MS, NOW_MS).capacity).toBeNull();
      // The sample is in the same span as the former machine's samples, and must not mix with them.
      former.observe(NOW_MS + MINUTE_MS, 7);
      expect(former.read(NOW_MS + MINUTE_MS, NOW_MS)).toEqual([[MINUTE_MS, 7]]);
      former.writeNode();
      expect(woken(sql).read(NOW_MS + MINUTE_MS)).toEqual([[MINUTE_MS, 7]]);
    }));
});

describe("an object of an earlier version", () => {
  it("→ is read, and gets the new column once", () =>
    inObject("earlier", (sql) => {
      sql.exec(OLD_TABLES);
      sql.exec("INSERT INTO records VALUES ('skewMs', '5')");
      const object = woken(sql);
      expect([object.records.get("skewMs"), object.read()]).toEqual([5, []]);
      object.observe(NOW_MS, 7);
      object.writeNode();
      object.writeNode();
      expect(object.asked.filter(({ query }) => query.startsWith("ALTER"))).toHaveLength(1);
      const next = woken(sql);
      expect([next.records.get("skewMs"), next.read()]).toEqual([5, [[0, 7]]]);
      next.writeNode();
      expect(next.asked.filter(({ query }) => query.startsWith("ALTER"))).toEqual([]);
    }));
});

describe("an object that wakes", () => {
  it("reads none of its samples", () =>
    runInDurableObject(env.NODES.getByName("samples-unread"), (_, state) => {
      const { sql } = state.storage;
      const object = woken(sql);
      for (let at = 0; at < 480; at++) object.observe(NOW_MS + at * 3 * MINUTE_MS, at);
      object.writeNode();
      const queries: string[] = [];
      const exec = sql.exec.bind(sql);
      Object.defineProperty(sql, "exec", {
        configurable: true,
        value: (query: string, ...bindings: unknown[]) => {
          queries.push(query);
          return exec(query, ...bindings);
        },
      });
      const next = new NodeObject(state, env);
      Object.defineProperty(sql, "exec", { configurable: true, value: exec });
      expect(next.history({ limit: 1 })).toEqual([]);
      expect(queries.filter((query) => query.includes("FROM records"))).toEqual([
        "SELECT key, value FROM records",
      ]);
      // The column of samples is the last one, so that SQLite reads the value without reading the samples.
      const [made] = exec<{ sql: string }>("SELECT sql FROM sqlite_master WHERE name = 'records'").toArray();
      expect(made?.sql).toMatch(/value TEXT NOT NULL, samples BLOB\)/);
    }));
});
