// Measures the bytes that a browser loads before the page shows anything: the files of npm run build, compressed.
import { join } from "node:path";
import { buildPage, firstLoadBytes } from "../../../infra/page/build/build.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { ROOT } from "./workerd.ts";

export const pageFirstLoad: Benchmark = {
  ...budgetOf("page-first-load"),
  measure: async () => [{ ours: firstLoadBytes(await buildPage(join(ROOT, "infra/page"))) / 1024 }],
};
