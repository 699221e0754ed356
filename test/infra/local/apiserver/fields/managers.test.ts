// Entries of metadata.managedFields: how many there may be, and their order.
import { describe, expect, test } from "vitest";
import {
  capManagers,
  encodeManagers,
  type Owned,
} from "../../../../../infra/local/apiserver/fields/managers.ts";

function updater(manager: string, second: number, rest: Partial<Owned> = {}): Owned {
  const time = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
  const fields = { [`f:${manager}`]: {} };
  return { manager, operation: "Update", apiVersion: "v1", subresource: "", time, fields, ...rest };
}

function updaters(count: number): Owned[] {
  return Array.from({ length: count }, (_, index) => updater(`m${index}`, index));
}

describe("the number of updaters", () => {
  test("at the limit all stay", () => {
    const ten = updaters(10);
    expect(capManagers(ten)).toBe(ten);
  });

  test("appliers do not count", () => {
    const appliers = updaters(5).map((owned): Owned => ({ ...owned, operation: "Apply" }));
    const all = [...updaters(10), ...appliers];
    expect(capManagers(all)).toBe(all);
  });

  test("just over it the two oldest become one, with the time of the later", () => {
    const capped = capManagers(updaters(11).toReversed());
    expect(capped).toHaveLength(10);
    expect(capped.at(-1)).toEqual(updater("ancient-changes", 1, { fields: { "f:m0": {}, "f:m1": {} } }));
  });

  test("and the next goes to what is already old", () => {
    const capped = capManagers([...capManagers(updaters(11)), updater("m11", 11)]);
    expect(capped).toHaveLength(10);
    expect(capped.at(-1)).toEqual(
      updater("ancient-changes", 2, { fields: { "f:m0": {}, "f:m1": {}, "f:m2": {} } }),
    );
  });

  test("of another version only entries of that version become one", () => {
    const old = [updater("a", 0, { apiVersion: "v0" }), ...updaters(11)];
    const managers = capManagers(old).map(({ manager, apiVersion }) => `${manager} ${apiVersion}`);
    expect(managers).toHaveLength(10);
    expect(managers).toContain("a v0");
    expect(managers).toContain("ancient-changes v1");
  });
});

test("entries are in the order of operation, time, name", () => {
  const encoded = encodeManagers([
    updater("c", 1),
    updater("b", 2, { operation: "Apply" }),
    updater("b", 1),
    updater("a", 3, { operation: "Apply" }),
    updater("a", 0, { time: "" }),
  ]);
  expect(encoded?.map(({ operation, manager }) => `${operation} ${manager}`)).toEqual([
    "Apply b",
    "Apply a",
    "Update a",
    "Update b",
    "Update c",
  ]);
});
