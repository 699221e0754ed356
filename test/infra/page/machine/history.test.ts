import { expect, it, test } from "vitest";
import { byDay, withNewest } from "../../../../infra/page/machine/history.tsx";

const entry = (id: number, at = "2026-01-01T11:00:00.000Z") => ({ id, at, kind: "state", text: String(id) });
const entries = (...ids: number[]) => ids.map((id) => entry(id));

test.each<[situation: string, known: number[], newest: number[], all: number[]]>([
  ["nothing was known", [], [3, 2], [3, 2]],
  ["nothing is new", [3, 2, 1], [3, 2], [3, 2, 1]],
  ["a line is new", [3, 2, 1], [4, 3], [4, 3, 2, 1]],
  ["all of the page is new, and lines may be missing", [3, 2, 1], [9, 8], [9, 8]],
  ["its history began anew", [30, 20], [2, 1], [2, 1]],
  ["it is empty by now", [3], [], []],
])("the newest page again: %s", (_, known, newest, all) => {
  expect(withNewest(entries(...known), entries(...newest)).map(({ id }) => id)).toEqual(all);
});

it("in days of whoever looks, newest first", () => {
  const all = [
    entry(3, "2026-01-01T23:30:00.000Z"),
    entry(2, "2026-01-01T22:30:00.000Z"),
    entry(1, "2026-01-01T09:00:00.000Z"),
  ];
  const days = (ahead: number) => byDay(all, () => ahead).map(({ day, entries }) => [day, entries.length]);
  expect(days(0)).toEqual([["2026-01-01", 3]]);
  expect(days(60)).toEqual([
    ["2026-01-02", 1],
    ["2026-01-01", 2],
  ]);
});
