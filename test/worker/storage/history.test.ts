// What a machine's object keeps of its history is bounded.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { machineHistory, MAX_HISTORY_ENTRIES } from "../../../worker/storage/history.ts";
import { nodeTables } from "../../../worker/storage/tables.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06Z");
const DAY_MS = 24 * 3600 * 1000;
const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `line ${from + index}`);

/** History over an empty storage. */
function withHistory<T>(name: string, work: (history: ReturnType<typeof machineHistory>) => T): Promise<T> {
  return runInDurableObject(env.NODES.getByName(name), (_, { storage }) =>
    work(machineHistory(storage.sql, nodeTables(storage.sql))),
  );
}

describe("history", () => {
  const all = { limit: 2 * MAX_HISTORY_ENTRIES };

  it("at its limit keeps everything, in order", async () => {
    const kept = await withHistory("history-full", (history) => {
      history.add("phase", texts(MAX_HISTORY_ENTRIES), NOW_MS);
      return history.read(all).map(({ text }) => text);
    });
    expect(kept).toEqual(texts(MAX_HISTORY_ENTRIES).toReversed());
  });

  it("over its limit → the oldest go as others come", async () => {
    const kept = await withHistory("history-over", (history) => {
      history.add("phase", texts(MAX_HISTORY_ENTRIES), NOW_MS);
      for (const text of texts(10, MAX_HISTORY_ENTRIES)) history.add("phase", [text], NOW_MS);
      return history.read(all).map(({ text }) => text);
    });
    expect(kept).toEqual(texts(MAX_HISTORY_ENTRIES, 10).toReversed());
  });

  it.each([
    ["90 days old → stays", 90 * DAY_MS, 20],
    ["older → goes as others come", 90 * DAY_MS + 1, 10],
  ])("%s", async (situation, ageMs, left) => {
    const kept = await withHistory(`history-${situation.length}`, (history) => {
      history.add("phase", texts(10), NOW_MS - ageMs);
      for (const text of texts(10, 10)) history.add("phase", [text], NOW_MS);
      return history.read(all).map(({ text }) => text);
    });
    expect(kept).toEqual(texts(left, 20 - left).toReversed());
  });
});
