// Compares the table of a join token's limits in docs/what-a-machine-can-do.md with the flags and their defaults.
import { expect, it } from "vitest";
import { TYPED } from "../../infra/operator/token-commands.ts";
import { NARROW } from "../../shared/protocol/join-tokens.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/what-a-machine-can-do.md")!;

/** Returns the ranges of addresses in a cell. */
const ranges = (cell = "") => [...cell.matchAll(/`([^`]*\/\d+)`/g)].map(([, range]) => range);

it("docs/what-a-machine-can-do.md has each limit of a join token, with its flag, its field and its default", () => {
  const rows = tableRows(page, "flag").map(([flag, field, , standard]) => ({
    flag,
    field,
    allows: standard?.startsWith("none") ? [] : ranges(standard),
  }));
  // A feature's label is allowed by mayLabel as well, so that mayFeature has no default of its own.
  const wanted = Object.entries({ ...NARROW, mayFeature: [] }).map(([field, allows]) => ({
    flag: `\`${TYPED[field as keyof typeof TYPED]}\``,
    field: `\`${field}\``,
    allows,
  }));
  expect(rows).toHaveLength(wanted.length);
  expect(rows).toEqual(expect.arrayContaining(wanted));
});
