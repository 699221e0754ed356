// npm run bench -- [NAME...] [--minutes N] [--json FILE], or compare TREE: measures what is promised (the budgets), and says
// where one is missed.
import { benchmarks } from "./benchmarks.ts";
import { compareBenchmarks, withTree } from "./compare.ts";
import { runBenchmarks } from "./run.ts";

const streams = { out: process.stdout, err: process.stderr };
const [first, tree, ...rest] = process.argv.slice(2);
try {
  process.exitCode =
    first === "compare" && tree !== undefined && !tree.startsWith("-")
      ? await withTree(tree, (root) => runBenchmarks(compareBenchmarks(root), rest, streams))
      : await runBenchmarks(benchmarks, process.argv.slice(2), streams);
} catch (error) {
  process.stderr.write(`bench: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
