// Tests that a machine's history is limited in number, age, size, and entries of one day.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { HistoryKind } from "../../../shared/protocol/history-kinds.ts";
import { HISTORY_LIMITS, machineHistory } from "../../../worker/storage/history.ts";
import { nodeTables } from "../../../worker/storage/tables.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06Z");
const DAY_MS = 24 * 3600 * 1000;
const { entries, entryLength, dayLength, entryShare, pageLength } = HISTORY_LIMITS;
const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `line ${from + index}`);

type History = ReturnType<typeof machineHistory>;

/** Calls `work` with a history over an empty storage. `woken` returns the history after an eviction. */
function withHistory<T>(name: string, work: (history: History, woken: () => History) => T): Promise<T> {
  return runInDurableObject(env.NODES.getByName(name), (_, { storage }) => {
    const woken = () => machineHistory(storage.sql, nodeTables(storage));
    return work(woken(), woken);
  });
}

/** Adds entries over many days, so that no day exceeds its limit. */
function addOverDays(history: History, all: readonly string[]): void {
  const perDay = 500;
  const days = Math.ceil(all.length / perDay);
  for (let day = 0; day < days; day++)
    history.add("phase", all.slice(day * perDay, (day + 1) * perDay), NOW_MS - (days - day) * DAY_MS);
}

const all = { limit: 2 * entries };
const read = (history: History) => history.read(all).map(({ text }) => text);

describe("the whole history", () => {
  it("at its limit → keeps everything, in order", async () => {
    const kept = await withHistory("history-full", (history) => {
      addOverDays(history, texts(entries));
      return read(history);
    });
    expect(kept).toEqual(texts(entries).toReversed());
  });

  it("over its limit → the oldest entries are deleted for new ones", async () => {
    const kept = await withHistory("history-over", (history) => {
      addOverDays(history, texts(entries));
      for (const text of texts(10, entries)) history.add("phase", [text], NOW_MS);
      return read(history);
    });
    expect(kept).toEqual(texts(entries, 10).toReversed());
  });

  it.each([
    ["90 days old → stays", 90 * DAY_MS, 20],
    ["older → goes as others come", 90 * DAY_MS + 1, 10],
  ])("%s", async (situation, ageMs, left) => {
    const kept = await withHistory(`history-${situation.length}`, (history) => {
      history.add("phase", texts(10), NOW_MS - ageMs);
      for (const text of texts(10, 10)) history.add("phase", [text], NOW_MS);
      return read(history);
    });
    expect(kept).toEqual(texts(left, 20 - left).toReversed());
  });
});

it.each([
  ["at its limit → whole", entryLength, "x".repeat(entryLength)],
  ["over its limit → its beginning", entryLength + 1, `${"x".repeat(entryLength - 1)}…`],
])("an entry %s", async (situation, length, kept) => {
  const found = await withHistory(`history-entry-${situation.length}`, (history) => {
    history.add("hardware", ["x".repeat(length)], NOW_MS);
    return read(history);
  });
  expect(found).toEqual([kept]);
});

describe("a day", () => {
  const FULL = "more changed today than is kept: the rest of this day is left out";
  const text = "x".repeat(entryLength);
  const fits = Math.ceil(dayLength / (entryLength + entryShare));
  const flood = (history: History, nowMs = NOW_MS) => {
    for (let entry = 0; entry < 5 * fits; entry++) history.add("hardware", [text], nowMs);
  };

  it("at its limit → one entry states that, and no more are stored; the next day has room again", async () => {
    const kept = await withHistory("history-day", (history) => {
      flood(history);
      const today = read(history);
      history.add("hardware", ["tomorrow"], NOW_MS + DAY_MS);
      return { today, tomorrow: read(history)[0] };
    });
    expect(kept.today).toEqual([FULL, ...Array.from({ length: fits }, () => text)]);
    expect(kept.tomorrow).toBe("tomorrow");
  });

  it("at its limit stays so after an eviction", async () => {
    const count = await withHistory("history-day-evicted", (history, woken) => {
      flood(history);
      flood(woken());
      return read(woken()).length;
    });
    expect(count).toBe(fits + 1);
  });

  it("at its limit has room for entries about duplicate senders, which have their own limit", async () => {
    const kinds = await withHistory("history-day-identity", (history, woken) => {
      flood(history);
      for (let entry = 0; entry < 5 * fits; entry++) woken().add("identity", [text], NOW_MS);
      return woken()
        .read({ ...all, kind: ["identity"] })
        .map((entry) => entry.text);
    });
    expect(kinds).toEqual([FULL, ...Array.from({ length: fits }, () => text)]);
  });

  it("has a limit for empty texts as well", async () => {
    const count = await withHistory("history-day-empty", (history) => {
      for (let entry = 0; entry < 3000; entry++) history.add("phase", [""], NOW_MS);
      return read(history).length;
    });
    expect(count).toBe(dayLength / entryShare + 1);
  });
});

describe("around a range", () => {
  const FULL = "more changed today than is kept: the rest of this day is left out";
  const READY = "Ready: True (R: m)";
  const range = { sinceMs: NOW_MS, untilMs: NOW_MS + 1000 };
  const around = (name: string, added: readonly [kind: HistoryKind, text: string, atMs: number][]) =>
    withHistory(`history-around-${name}`, (history) => {
      for (const [kind, text, atMs] of added) history.add(kind, [text], NOW_MS + atMs);
      return history.around(range);
    });

  it.each<[string, readonly [kind: HistoryKind, text: string, atMs: number][], string[]]>([
    ["nothing was ever noted", [], []],
    [
      "its ends are in it, what is before and after is not",
      [-1, 0, 1000, 1001].map((atMs) => ["reboot", `${atMs}`, atMs]),
      ["0", "1000"],
    ],
    [
      "before it the last line of each condition, in order",
      [
        ["condition", READY, -9],
        ["condition", "DiskPressure: False (R: m)", -8],
        ["condition", "Ready: True → False (R: m)", -7],
      ],
      ["DiskPressure: False (R: m)", "Ready: True → False (R: m)"],
    ],
    [
      "but for what another writer has set, also in an earlier version's words",
      [
        ["condition", READY, -9],
        ["condition", "Ready: True → Unknown (R: m), by somebody else", -8],
        ["condition", "kube-controller-manager set Ready: True → Unknown (R: m)", -7],
      ],
      [READY],
    ],
    [
      "and the last state, silence, start and full day",
      [
        ["state", "ready", -9],
        ["state", "ready → silent", -8],
        ["silence", "silent since x", -7],
        ["silence", "no answer from a to b", -6],
        ["registration", "the shim started", -5],
        ["registration", "registered", -4],
        ["phase", FULL, -3],
        ["identity", FULL, -2],
      ],
      ["ready → silent", "silent since x", "the shim started", FULL],
    ],
    [
      "and the last begin or end of clones",
      [
        ["phase", "registered → cloned", -9],
        ["phase", "cloned → registered", -8],
        ["phase", "registered → name taken", -7],
      ],
      ["cloned → registered"],
    ],
  ])("%s", async (situation, added, expected) => {
    const { lines, isCut } = await around(situation, added);
    expect([lines.map(({ text }) => text), isCut]).toEqual([expected, false]);
    if (added.some(([kind]) => kind === "identity")) expect(lines.at(-1)?.kind).toBe("phase");
  });

  it("the oldest stored line shows where the history begins", async () => {
    const { oldestMs } = await around("oldest", [["reboot", "b", -9]]);
    expect(oldestMs).toBe(NOW_MS - 9);
    expect((await around("none", [])).oldestMs).toBeNull();
  });

  it("longer than a page → its latest lines, and nothing of the time before", async () => {
    const text = "x".repeat(entryLength);
    const many = await withHistory("history-around-long", (history) => {
      history.add("condition", [READY], NOW_MS - 9);
      // The entries are on five days, because one day has no room for their number.
      for (let day = 0; day < 5; day++)
        history.add(
          "phase",
          Array.from({ length: 60 }, () => text),
          NOW_MS + day * DAY_MS,
        );
      return history.around({ sinceMs: NOW_MS, untilMs: NOW_MS + 5 * DAY_MS });
    });
    expect([many.isCut, many.lines.length]).toEqual([true, pageLength / entryLength]);
  });
});

describe("a page", () => {
  it("ends where its texts are long enough, and the next one continues", async () => {
    const pages = await runInDurableObject(env.NODES.getByName("history-pages"), (_, { storage }) => {
      const { sql } = storage;
      const tables = nodeTables(storage);
      const history = machineHistory(sql, tables);
      tables.make();
      // Older versions stored entries without limits.
      const row = "INSERT INTO history (at_ms, kind, text) VALUES (?, 'hardware', ?)";
      for (let entry = 0; entry < 400; entry++) sql.exec(row, NOW_MS, "x".repeat(200_000));
      const first = history.read({ limit: 1000 });
      return [first, history.read({ limit: 1000, before: first.at(-1)!.id })];
    });
    const perPage = pageLength / entryLength;
    expect(pages.map((page) => page.length)).toEqual([perPage, 400 - perPage]);
    expect(pages.flat().every(({ text }) => text.length === entryLength)).toBe(true);
  });
});
