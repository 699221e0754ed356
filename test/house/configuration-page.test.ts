// Compares the section "What it decides" in docs/configuration.md with the fields of the configuration.
import { expect, it } from "vitest";
import { withDefaults } from "../../node-shim/config/config.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/configuration.md")!;

it("each field has its row, and each row its fields", () => {
  // Rows with three cells belong to the generated table, which another test compares.
  const cells = tableRows(page, "field").filter(({ length }) => length === 2);
  const named = cells.flatMap(([cell = ""]) => [...cell.matchAll(/`(\w+)`/g)].map(([, field]) => field));
  expect(new Set(named)).toEqual(new Set(Object.keys(withDefaults({}).values)));
});
