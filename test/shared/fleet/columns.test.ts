// Tests that rows survive the conversion to columns and back, and that their text is never longer than computed.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ColumnsBuilder, rowsOf } from "../../../shared/fleet/columns.ts";
import type { Json } from "../../../shared/kubernetes/json.ts";

const columnsOf = (fields: string[], rows: Json[][]) => {
  const builder = new ColumnsBuilder(fields);
  for (const row of rows) builder.add(row);
  return { columns: builder.finish(), bytes: builder.bytes };
};

describe("a column", () => {
  const cases: [situation: string, values: Json[], column: unknown][] = [
    ["all equal", ["a", "a", "a"], { all: "a" }],
    ["no rows", [], { of: [], at: [] }],
    ["few different ones", ["a", "b", "a", "b"], { of: ["a", "b"], at: [0, 1, 0, 1] }],
    ["numbers that differ", [1_000_007, 1_000_000, 1_000_003], { from: 1_000_000, plus: [7, 0, 3] }],
    ["texts that differ", ["a", "b", "c"], { each: ["a", "b", "c"] }],
    ["numbers and null", [1, null, 2], { each: [1, null, 2] }],
    ["objects", [{ a: "1" }, { a: "1" }], { all: { a: "1" } }],
  ];
  it.each(cases)("%s", (_, values, column) => {
    expect(
      columnsOf(
        ["x"],
        values.map((value) => [value]),
      ).columns,
    ).toEqual({ x: column });
  });
});

it("for any rows → the same rows again, and no more bytes than computed", () => {
  const value = fc.oneof(
    fc.constantFrom<Json>("ready", "silent", null, true, 7),
    // The characters have one to four bytes in UTF-8, or are escaped in JSON. The unit "binary" of fast-check would
    // take a second.
    fc.string({ unit: fc.constantFrom("a", '"', "\0", "é", "→", "😀") }),
    fc.maxSafeInteger(),
    fc.array(fc.string()),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value, value), { maxLength: 40 }), (rows) => {
      const { columns, bytes } = columnsOf(["a", "b", "c"], rows);
      const text = JSON.stringify(columns);
      expect(rowsOf(JSON.parse(text), rows.length)).toEqual(
        rows.map(([a, b, c]) => ({ a, b, c })).map((row) => JSON.parse(JSON.stringify(row)) as unknown),
      );
      const lone = Object.values(columns).reduce(
        (sum, each) => sum + ("all" in each ? JSON.stringify(each).length * 3 : 0),
        0,
      );
      expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(bytes + lone + 200);
    }),
    { numRuns: 50 },
  );
});
