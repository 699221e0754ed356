import { describe, expect, it } from "vitest";
import {
  extended,
  howMany,
  toggled,
  withNames,
  withoutGone,
} from "../../../../infra/page/fleet/machine-table.tsx";

const ROWS = ["a", "b", "c", "d", "e"].map((name) => ({ name }));
const list = (selection: ReadonlySet<string>) => [...selection].toSorted().join("");

it("one by one", () => {
  expect(list(toggled(new Set("a"), "b"))).toBe("ab");
  expect(list(toggled(new Set("ab"), "b"))).toBe("a");
});

describe("with Shift", () => {
  it.each([
    ["down", "b", "b", "d", "bcd"],
    ["up", "d", "d", "b", "bcd"],
    ["what was put away last puts away", "acde", "b", "d", "ae"],
    ["itself", "b", "b", "b", "b"],
    ["without one before", "", null, "c", "c"],
    ["the one before is not shown any more", "z", "z", "c", "cz"],
  ])("%s", (_, selected, anchor, name, expected) => {
    expect(list(extended(new Set(selected), ROWS, anchor, name))).toBe(expected);
  });
});

it("all that match, and none of them", () => {
  const names = ROWS.map(({ name }) => name);
  expect(list(withNames(new Set("z"), names, true))).toBe("abcdez");
  expect(list(withNames(new Set("az"), names, false))).toBe("z");
});

it("who leaves the fleet leaves it; else it is the same", () => {
  const selection = new Set("ab");
  const update = { isWhole: false, changed: ["a"], gone: ["c"] };
  expect(withoutGone(selection, update)).toBe(selection);
  expect(list(withoutGone(selection, { ...update, gone: ["b"] }))).toBe("a");
});

it.each([
  ["", "none"],
  ["z", "none"],
  ["ab", "some"],
  ["abz", "some"],
  ["abcde", "all"],
])("of %j → %s", (selected, expected) => {
  expect(howMany(new Set(selected), ROWS)).toBe(expected);
});
