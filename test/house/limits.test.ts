// Compares the limits in docs/protocol.md with shared/protocol/limits.ts.
import { expect, it, test } from "vitest";
import * as limits from "../../shared/protocol/limits.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/protocol.md")!;
const rows = new Map(tableRows(page, "constant").map(([constant = "", number = ""]) => [constant, number]));

type Limit = number | readonly [least: number, most: number];
const constants = Object.entries(limits).flatMap(([group, numbers]) =>
  Object.entries<Limit>(numbers).map(([name, limit]): [string, string] => [
    `\`${group}.${name}\``,
    [limit]
      .flat()
      .map((number) => number.toLocaleString("en"))
      .join(" to "),
  ]),
);

test.each(constants)("%s is documented as %s", (constant, number) => {
  expect(rows.get(constant)).toBe(number);
});

it("each row is of a limit that there is", () => {
  expect([...rows.keys()]).toEqual(constants.map(([constant]) => constant));
});
