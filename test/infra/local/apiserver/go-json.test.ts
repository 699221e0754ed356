// The JSON reader: it agrees with JSON.parse on what is JSON, in both of its ways, and finds what JSON.parse hides.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { duplicateFields } from "../../../../infra/local/apiserver/go-json-duplicates.ts";
import { parseSlowly } from "../../../../infra/local/apiserver/go-json-parser.ts";
import { maxDepth, parseGoJson } from "../../../../infra/local/apiserver/go-json.ts";

function parsesAsJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("agrees with JSON.parse", () => {
  test("on every value", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text);
        expect(parseSlowly(text, maxDepth)).toEqual({ value, duplicates: new Map() });
        expect(parseGoJson(text, true)).toEqual({ value, duplicates: undefined });
      }),
    );
  });

  test("on every text that is almost JSON", () => {
    const almost = fc.tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", "x", '"', "{", "]", ",", "\\", "\n", "0"),
    );
    fc.assert(
      fc.property(almost, ([text, position, piece]) => {
        const at = position % (text.length + 1);
        const damaged = text.slice(0, at) + piece + text.slice(at + 1);
        const isJson = parsesAsJson(damaged);
        expect("value" in parseSlowly(damaged, maxDepth)).toBe(isJson);
        expect("value" in parseGoJson(damaged, true)).toBe(isJson);
      }),
    );
  });
});

test.each([
  ['{"a":1,"a":2}', ['duplicate field "a"']],
  [
    '{"a":[{"b":1},{"b":1,"b":2,"c":{"d":1,"d":1}}]}',
    ['duplicate field "a[1].b"', 'duplicate field "a[1].c.d"'],
  ],
  ['{"a":":","b":"\\"a\\":1"}', []],
])("fields that come twice: %s", (text, found) => {
  const parsed = parseGoJson(text, true);
  if ("error" in parsed) throw new Error(parsed.error);
  expect(duplicateFields(parsed.value, parsed.duplicates ?? new Map())).toEqual(found);
});

test.each([
  ["", "unexpected end of JSON input"],
  ['{"a":tru}', "invalid character '}' in literal true (expecting 'e')"],
  [String.raw`"\x"`, "invalid character 'x' in string escape code"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
  ["[1 2]", "invalid character '2' after array element"],
  ["01", "invalid character '1' after top-level value"],
  ["1.x", "invalid character 'x' after decimal point in numeric literal"],
  ["{'a':1}", String.raw`invalid character '\'' looking for beginning of object key string`],
  ["[\u0001]", String.raw`invalid character '\x01' looking for beginning of value`],
])("what Go says of %j", (text, error) => {
  expect(parseGoJson(text, false)).toEqual({ error });
});

test("nesting at the limit is read, just over it is not", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(parseGoJson(nested(maxDepth), true)).toHaveProperty("value");
  expect(parseGoJson(nested(maxDepth + 1), true)).toEqual({
    error: "invalid character '[' exceeded max depth",
  });
});
