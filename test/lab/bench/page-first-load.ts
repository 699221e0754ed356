// What a browser loads before the page can show anything: the files that npm run build would make, compressed.
import { join } from "node:path";
import { buildPage } from "../../../infra/page/build.ts";
import { firstLoadBytes } from "../../../infra/page/size.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { ROOT } from "./workerd.ts";

export const pageFirstLoad: Benchmark = {
  ...budgetOf("page-first-load"),
  measure: async () => [{ ours: firstLoadBytes(await buildPage(join(ROOT, "worker/page"))) / 1024 }],
};
