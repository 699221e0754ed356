// Tests that docs/bench.md has the budgets and yardsticks of the benchmarks.
import { readFileSync } from "node:fs";
import { format } from "prettier";
import { expect, test } from "vitest";
import { benchmarks } from "./benchmarks.ts";
import { BUDGETS } from "./budgets.ts";
import { budgetsMarkdown, yardsticksMarkdown } from "./output.ts";

const page = readFileSync(new URL("../../../docs/bench.md", import.meta.url), "utf8");

/** Formats Markdown as `npm run fix` does. */
const written = (markdown: string) => format(markdown, { parser: "markdown", printWidth: 110 });

/** The page wraps its lists, and the benchmarks' texts have no line ends. */
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

test.each([
  ["budgets", budgetsMarkdown(BUDGETS)],
  ["yardsticks", yardsticksMarkdown()],
])("docs/bench.md has the %s of the benchmarks, word for word", async (_, markdown) => {
  expect(oneLine(page)).toContain(oneLine(await written(markdown)));
});

test("every budget is measured, under its own name", () => {
  const measured = benchmarks.map(({ name }) => name.replace(/^shim-\d+-/, "shim-"));
  expect(new Set(measured)).toEqual(new Set(BUDGETS.map(({ name }) => name)));
});
