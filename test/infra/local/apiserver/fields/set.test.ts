// Tests the operations on field sets: union, intersection, difference.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  difference,
  emptySet,
  type FieldSet,
  inOrder,
  intersection,
  memberPaths,
  recursiveDifference,
  union,
} from "../../../../../infra/local/apiserver/fields/set.ts";

const element = fc.constantFrom("f:a", "f:b", "f:c", 'k:{"type":"A"}', 'v:"x"');
const path = fc.array(element, { minLength: 1, maxLength: 3 });

function setOf(paths: string[][]): FieldSet {
  const single = (each: string[]) => each.reduceRight<FieldSet>((below, name) => ({ [name]: below }), {});
  return paths.map(single).reduce(union, emptySet);
}

const set = fc.array(path, { maxLength: 8 }).map(setOf);

/** Returns the paths of a field set's members as text, sorted. */
function members(fields: FieldSet): string[] {
  return memberPaths(fields)
    .map((each) => each.join("/"))
    .toSorted();
}

describe("for all sets", () => {
  test("union, difference and intersection are those of their members", () => {
    const laws = fc.property(set, set, (left, right) => {
      const [mine, theirs] = [members(left), members(right)];
      const either = [...new Set([...mine, ...theirs])].toSorted();
      expect(members(union(left, right))).toEqual(either);
      expect(members(difference(left, right))).toEqual(mine.filter((each) => !theirs.includes(each)));
      expect(members(intersection(left, right))).toEqual(mine.filter((each) => theirs.includes(each)));
    });
    fc.assert(laws);
  });

  test("a recursive difference has nothing below what was taken away", () => {
    const law = fc.property(set, set, (left, right) => {
      const taken = members(right);
      const kept = members(left).filter((each) =>
        taken.every((other) => each !== other && !each.startsWith(`${other}/`)),
      );
      expect(members(recursiveDifference(left, right))).toEqual(kept);
    });
    fc.assert(law);
  });

  test("the same members make the same set, whatever made it", () => {
    const law = fc.property(set, set, (left, right) => {
      const made = union(difference(left, right), intersection(left, right));
      expect(JSON.stringify(made)).toBe(JSON.stringify(inOrder(left)));
    });
    fc.assert(law);
  });

  test("what changes nothing gives back the same set", () => {
    const law = fc.property(set, (fields) => {
      expect(difference(fields, emptySet)).toBe(fields);
      expect(union(fields, fields)).toBe(fields);
    });
    fc.assert(law);
  });
});

test("a member goes, what is below it stays", () => {
  const labels = { "f:labels": { ".": {}, "f:a": {} } };
  expect(difference(labels, { "f:labels": {} })).toEqual({ "f:labels": { "f:a": {} } });
  expect(difference(labels, { "f:labels": { "f:a": {} } })).toEqual({ "f:labels": {} });
});
