// Tests the bytes that a feed sends for a large fleet, where each message is compressed as a whole. No result
// depends on the computer's speed.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import type { FeedChanges, FeedMessage, FeedSnapshot } from "../../../shared/protocol/feed.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import { FeedSource } from "../../../worker/fleet/feed-source.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { Outages } from "../../../worker/fleet/outages.ts";
import { machineName, PENDING, spread, spreadSummaryOf } from "../support/made-up-fleet.ts";
import { writeMachines } from "../support/stored-machines.ts";

const MACHINES = 10_000;
const CHANGES = 200;
/** Returns SQL for the numbers from `first` to a parameter. */
const numbersFrom = (first: number) =>
  `WITH RECURSIVE number(n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM number WHERE n < ?)`;
const stub = env.INDEX.getByName("feed-source");

class Told {
  readonly rows: MachineRows;
  readonly source: FeedSource;
  constructor({ sql }: DurableObjectStorage) {
    this.rows = new MachineRows(sql);
    this.source = new FeedSource(sql, this.rows, new Outages(sql));
  }
  tell(index: number, version: number, change = {}): void {
    const summary = spreadSummaryOf(index, change);
    const { change: told } = this.rows.take({
      name: machineName(index),
      generation: 1,
      version,
      summary,
      entries: [],
    });
    if (told) this.source.note(told);
  }
}

const gzipped = (text: string) => gzipSync(text).length;

beforeAll(() =>
  runInDurableObject(stub, (_, { storage: { sql } }) => {
    writeMachines(sql, { from: 0, to: MACHINES, nameOf: machineName, summaryOf: spreadSummaryOf });
  }),
);

it.each([
  ["as many changes as it may", FEED_LIMITS.resumedChanges, { resumed: true, why: "" }],
  ["one change more", FEED_LIMITS.resumedChanges + 1, { resumed: false, why: "too much has changed" }],
])("a resumed feed that lacks %s → %o", (_, lacks, hello) =>
  runInDurableObject(stub, (_object, { storage }) => {
    const { source } = new Told(storage);
    const { cursor } = source.begin(null);
    expect(source.begin({ ...cursor, seq: MACHINES - lacks, through: null }).hello).toMatchObject(hello);
  }),
);

it("a resumed feed that may lack names of removed machines → a snapshot", () =>
  runInDurableObject(stub, (_, { storage }) => {
    const { source } = new Told(storage);
    const { cursor } = source.begin(null);
    storage.sql.exec("UPDATE feed SET gone_seq = ?", MACHINES - 5);
    const why = (seq: number) => source.begin({ ...cursor, seq, through: null }).hello.why;
    expect([why(MACHINES - 5), why(MACHINES - 6)]).toEqual(["", "it was too long ago"]);
  }));

describe("compressed size", () => {
  it("the snapshot of 10,000 machines: at most 250 KiB, in messages of at most 1 MiB", () =>
    runInDurableObject(stub, (_, { storage }) => {
      const { source } = new Told(storage);
      const texts: string[] = [];
      let { cursor } = source.begin(null);
      while (cursor.through !== null) {
        const part = source.next(cursor);
        texts.push(part.text!);
        cursor = part.cursor;
      }
      const parts = texts.map((text) => JSON.parse(text) as FeedSnapshot);
      expect(parts.reduce((sum, { rows }) => sum + rows, 0)).toBe(MACHINES);
      expect(parts.findIndex(({ counts }) => counts !== undefined)).toBe(parts.length - 1);
      expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(FEED_LIMITS.messageBytes);
      expect(texts.map(gzipped).reduce((sum, bytes) => sum + bytes)).toBeLessThanOrEqual(250 * 1024);
    }));

  it("200 machines that turn silent: at most 4 KiB", () =>
    runInDurableObject(stub, (_, { storage }) => {
      const told = new Told(storage);
      const { cursor } = told.source.begin(null);
      for (let each = 0; each < CHANGES; each++) {
        const at = Date.UTC(2026, 0, 20) + (spread(each) % 60_000);
        told.tell(50 * each + (spread(each + 1000) % 50), 2, {
          state: "silent",
          sinceMs: at + 40_000 + (spread(each + 2000) % 10_000),
          silentSinceMs: at,
          why: "no report for 41 s",
        });
      }
      const text = told.source.next({ ...cursor, through: null }).text!;
      const message = JSON.parse(text) as FeedMessage;
      expect(message).toMatchObject({ type: "changes", moved: { rows: CHANGES } });
      expect(gzipped(text)).toBeLessThanOrEqual(4 * 1024);
    }));
});

it("600 machines are removed, and 150 outages change → each is sent once; the last message has the rest", () =>
  runInDurableObject(env.INDEX.getByName("feed-source-gone"), (_, { storage }) => {
    const { sql } = storage;
    const { source } = new Told(storage);
    const begin = source.begin(null).cursor;
    sql.exec(`${numbersFrom(1)} INSERT INTO gone SELECT 'gone-' || n, 1, n FROM number`, 600);
    sql.exec(
      `${numbersFrom(1)} INSERT INTO outages SELECT n, '203.0.113.' || n, 0, 0, 0, 2, 0, '{}', 600 + n FROM number`,
      150,
    );
    sql.exec("UPDATE sequence SET value = 750");
    source.setPending([]);
    source.setPending([PENDING]);
    // A list without a change is no news.
    source.setPending([PENDING]);
    const messages: FeedChanges[] = [];
    let cursor = { ...begin, through: null };
    while (source.hasNews(cursor)) {
      const part = source.next(cursor);
      messages.push(JSON.parse(part.text!) as FeedChanges);
      cursor = { ...part.cursor, through: null };
    }
    expect(cursor.seq).toBe(751);
    const gone = messages.flatMap((message) => message.gone ?? []);
    expect(gone).toEqual(Array.from({ length: 600 }, (_each, at) => `gone-${at + 1}`));
    const outages = messages.flatMap((message) => message.outages ?? []).map(({ id }) => id);
    expect(outages).toEqual(Array.from({ length: 150 }, (_each, at) => at + 1));
    const rest = messages.map(({ pending, counts }) => [pending?.length, counts !== undefined]);
    expect(rest).toEqual(
      messages.map((_each, at) => (at === messages.length - 1 ? [1, true] : [undefined, false])),
    );
    expect(messages.length).toBeLessThanOrEqual(6);
  }));

it.each([
  ["each hundredth change", 20_100],
  ["a later change, if the hundredth removed none", 20_150],
])("more names of removed machines than are kept → %s deletes the oldest", (_situation, at) =>
  runInDurableObject(env.INDEX.getByName(`feed-source-kept-${at}`), (_, { storage }) => {
    const { sql } = storage;
    const told = new Told(storage);
    for (const index of [1, 2]) told.tell(index, 1);
    sql.exec(`${numbersFrom(3)} INSERT INTO gone SELECT 'gone-' || n, 1, n FROM number`, 20_098);
    const remove = (index: number, seq: number) => {
      sql.exec("UPDATE sequence SET value = ?", seq - 1);
      const removed = told.rows.remove(machineName(index), 1, Date.UTC(2026, 0, 21), "left");
      told.source.note(removed!);
      return [...sql.exec("SELECT MIN(seq), COUNT(*), (SELECT gone_seq FROM feed) FROM gone").raw()].flat();
    };
    expect(remove(1, 20_099)).toEqual([3, 20_097, 0]);
    expect(remove(2, at)).toEqual([101, 20_000, 100]);
    expect(sql.exec("SELECT * FROM feed_whole").toArray()).toEqual([]);
  }),
);

it("all machines change, and one is removed → messages of at most 1 MiB; the last one names the removed machine", () =>
  runInDurableObject(stub, (_, { storage }) => {
    const { rows, source } = new Told(storage);
    const removed = rows.remove(machineName(0), 1, Date.UTC(2026, 0, 21), "left");
    source.note(removed!);
    let cursor = { ...source.begin(null).cursor, seq: 0, through: null };
    const messages: FeedChanges[] = [];
    while (source.hasNews(cursor)) {
      const part = source.next(cursor);
      expect(part.text!.length).toBeLessThanOrEqual(FEED_LIMITS.messageBytes);
      messages.push(JSON.parse(part.text!) as FeedChanges);
      cursor = { ...part.cursor, through: null };
    }
    const changed = messages.reduce(
      (sum, { machines, moved }) => sum + (machines?.rows ?? 0) + (moved?.rows ?? 0),
      0,
    );
    expect([changed, messages.length > 1]).toEqual([MACHINES - 1, true]);
    expect(messages.flatMap(({ gone = [] }, index) => gone.map((name) => [index, name]))).toEqual([
      [messages.length - 1, machineName(0)],
    ]);
  }));
