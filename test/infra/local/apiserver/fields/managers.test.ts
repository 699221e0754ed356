// Tests the order of the entries in metadata.managedFields.
import { expect, test } from "vitest";
import { encodeManagers, type Owned } from "../../../../../infra/local/apiserver/fields/managers.ts";

function updater(manager: string, second: number, rest: Partial<Owned> = {}): Owned {
  const time = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
  const fields = { [`f:${manager}`]: {} };
  return { manager, operation: "Update", apiVersion: "v1", subresource: "", time, fields, ...rest };
}

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
