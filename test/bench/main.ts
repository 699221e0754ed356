// npm run bench -- [NAME...] [--minutes N] [--json FILE]: measures what is promised (the budgets), and says where one is missed.
import { benchmarks } from "./benchmarks.ts";
import { runBenchmarks } from "./run.ts";

const streams = { out: process.stdout, err: process.stderr };
process.exitCode = await runBenchmarks(benchmarks, process.argv.slice(2), streams);
