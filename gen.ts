import { readFileSync, writeFileSync } from "node:fs";
import { BUDGETS } from "./test/bench/budgets.ts";
import { budgetsMarkdown, yardsticksMarkdown } from "./test/bench/output.ts";
let page = readFileSync("docs/bench.md", "utf8");
const a = page.indexOf("| name "), b = page.indexOf("\n\n", a);
page = page.slice(0, a) + budgetsMarkdown(BUDGETS).trimEnd() + page.slice(b);
const c = page.indexOf("- **node JSON**"), d = page.indexOf("\n\n", c);
page = page.slice(0, c) + yardsticksMarkdown().trimEnd() + page.slice(d);
writeFileSync("docs/bench.md", page);
