// docs/shim.md has a row for each check of `node-shim doctor`, and no other.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages, root, tableRows } from "./markdown.ts";
import { callsOf, textsOf } from "./source-texts.ts";

const page = pages().find(({ path }) => path === "docs/shim.md")!;
/** Arguments that are no text, as the page has them. */
const NAMED: Readonly<Record<string, string>> = { source: "<source>", type: "<condition>" };

const sources = globSync("node-shim/doctor/*.ts", { cwd: root }).map((path) =>
  readFileSync(join(root, path), "utf8"),
);
const checks = new Set(
  sources
    .flatMap((source) => callsOf(source, /\b(?:ok|warn|fail)/))
    .flatMap(([check = ""]) => NAMED[check] ?? textsOf(check)),
);

it("each check has its row, and each row its check", () => {
  const rows = tableRows(page, "check").map(([cell = ""]) => cell.replaceAll("`", ""));
  expect(rows.toSorted()).toEqual([...checks].toSorted());
});
