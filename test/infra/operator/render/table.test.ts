// Tests tables and pairs at several widths: cut values, omitted columns, and the columns that are always shown.
import { describe, expect, it, test } from "vitest";
import { PIPE, screenText, type TerminalScreen } from "../../../../infra/operator/render/terminal.ts";
import { type TableColumn, pairs, table } from "../../../../infra/operator/render/table.ts";

interface Row {
  name: string;
  state: string;
  why: string;
}
const COLUMNS: readonly TableColumn<Row>[] = [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "STATE", of: ({ state }) => state, rank: 1, paint: () => "red" },
  { head: "WHY", of: ({ why }) => why, rank: 2, least: 8 },
];
const ROWS: readonly Row[] = [
  { name: "edge-1.berlin", state: "ready", why: "" },
  { name: "edge-2", state: "not-ready", why: "the container runtime does not answer" },
];
const wide = (columns: number | null): TerminalScreen => ({ columns, isColored: false });

test.each<[columns: number | null, lines: string[]]>([
  [
    null,
    [
      "NAME            STATE       WHY",
      "edge-1.berlin   ready",
      "edge-2          not-ready   the container runtime does not answer",
    ],
  ],
  [40, ["NAME           STATE      WHY", "edge-1.berlin  ready", "edge-2         not-ready  the container…"]],
  [30, ["NAME           STATE", "edge-1.berlin  ready", "edge-2         not-ready"]],
  [20, ["NAME", "edge-1.berlin", "edge-2"]],
  [5, ["NAME", "edge-1.berlin", "edge-2"]],
])("%s columns → what fits", (columns, lines) => {
  expect(table(COLUMNS, ROWS, wide(columns)).trimEnd().split("\n")).toEqual(lines);
});

describe("colours", () => {
  it("on a terminal that has them → around the text alone, and no column moves", () => {
    const printed = table(COLUMNS, ROWS, { columns: 80, isColored: true });
    expect(printed).toContain("\u001B[31mready\u001B[0m\n");
    expect(printed.replaceAll("\u001B[31m", "").replaceAll("\u001B[0m", "")).toBe(
      table(COLUMNS, ROWS, wide(80)),
    );
  });

  it("a machine's own texts bring none", () => {
    const evil = { name: "a\u001B[31m", state: "b\u202Ec\n", why: "\u2028" };
    expect(table(COLUMNS, [evil], PIPE)).toBe("NAME     STATE   WHY\na\u{FFFD}[31m   b\u{FFFD}c\n");
  });
});

describe("the output of a command", () => {
  const text = "a\u001B[31mred\u001B[0m\tb\nc\u001B[2J\u001B[35;1m\u009B2J\u202E\r";
  it("on a terminal with colours → the own ones, line breaks and tabs stay", () => {
    expect(screenText(text, { isColored: true })).toBe(
      "a\u001B[31mred\u001B[0m\tb\nc\u{FFFD}[2J\u{FFFD}[35;1m\u{FFFD}2J\u{FFFD} ",
    );
  });

  it("in a pipe → no colour stays", () => {
    expect(screenText(text, PIPE)).toBe(
      "a\u{FFFD}[31mred\u{FFFD}[0m\tb\nc\u{FFFD}[2J\u{FFFD}[35;1m\u{FFFD}2J\u{FFFD} ",
    );
  });
});

it("wide characters take two columns", () => {
  const [first, second] = table(COLUMNS, [{ name: "店", state: "x", why: "" }], PIPE).split("\n");
  expect([first, second]).toEqual(["NAME   STATE   WHY", "店     x"]);
});

it("pairs → what is too long goes on below itself", () => {
  const rows = [["name", "edge-7"] as const, ["why", "the container runtime does not answer"] as const];
  expect(pairs(rows, wide(30))).toBe("name   edge-7\nwhy    the container runtime\n       does not answer\n");
});
