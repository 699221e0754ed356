// Runs benchmarks by name (or the beginning of names) and says what came of them. Knows none of them.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Benchmark, Result } from "./benchmark.ts";
import { resultsJson, tableText } from "./output.ts";

/** Where the words go: typically process.stdout and process.stderr. */
export interface Streams {
  out: { write: (text: string) => unknown };
  err: { write: (text: string) => unknown; isTTY?: boolean };
}

/**
 * `[NAME…] [--minutes N] [--json FILE]`, or `--help`. Returns the exit code: 0 even where a budget is missed, for a benchmark is no test; 1 where
 * something could not be measured, 2 for arguments that mean nothing.
 */
export async function runBenchmarks(
  benchmarks: readonly Benchmark[],
  args: string[],
  { out, err }: Streams,
): Promise<number> {
  const chosen = choose(benchmarks, args);
  if (chosen === "help") {
    out.write(helpText(benchmarks));
    return 0;
  }
  if ("error" in chosen) {
    err.write(`bench: ${chosen.error}\n${helpText(benchmarks)}`);
    return 2;
  }
  const { results, failures } = await measureAll(chosen, err);
  out.write(tableText(results));
  if (chosen.jsonFile !== undefined) {
    try {
      writeFileSync(chosen.jsonFile, resultsJson(results));
    } catch (error) {
      failures.push((error as Error).message);
    }
  }
  for (const failure of failures) err.write(`bench: ${failure}\n`);
  return failures.length > 0 ? 1 : 0;
}

/** One after the other, for each would slow the others down. On a terminal it says which one is at work. */
async function measureAll(
  { benchmarks, minutes }: Pick<Choice, "benchmarks" | "minutes">,
  progress: Streams["err"],
): Promise<{ results: Result[]; failures: string[] }> {
  const results: Result[] = [];
  const failures: string[] = [];
  for (const [index, { measure, ...benchmark }] of benchmarks.entries()) {
    const say = (message: string) => {
      if (!progress.isTTY) return;
      progress.write(`\r\u001B[K${index + 1}/${benchmarks.length} ${benchmark.name}${message}`);
    };
    say("");
    try {
      results.push({ ...benchmark, measured: await measure((message) => say(`: ${message}`), minutes) });
    } catch (error) {
      failures.push(`${benchmark.name}: ${(error as Error).message}`);
    }
  }
  if (progress.isTTY) progress.write("\r\u001B[K");
  return { results, failures };
}

/** How long what is steady is watched, unless --minutes says otherwise. */
const STEADY_MINUTES = 10;

const OPTIONS = {
  json: { type: "string" },
  minutes: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

function helpText(benchmarks: readonly Benchmark[]): string {
  const width = Math.max(...benchmarks.map(({ name }) => name.length));
  const names = benchmarks.map(({ name, what }) => `  ${name.padEnd(width)}  ${what}\n`).join("");
  return `usage: npm run bench -- [NAME...] [--minutes N] [--json FILE]

Measures what is promised and prints it beside its budget; without a NAME all of it, which takes most of an hour. The
beginning of names, up to a dash, is enough. --minutes is how long what is steady is watched (${STEADY_MINUTES}). With KUBEBUILDER_ASSETS
set, a real etcd, kube-apiserver and kubelet take part. Other work on the machine falsifies seconds, ratios hardly.

Exit codes: 0, also where a budget is missed; 1 when something could not be measured, 2 for a wrong command line.

${names}`;
}

interface Choice {
  benchmarks: Benchmark[];
  minutes: number;
  jsonFile: string | undefined;
}

function choose(benchmarks: readonly Benchmark[], args: string[]): Choice | "help" | { error: string } {
  let parsed;
  try {
    parsed = parseArgs({ args, allowPositionals: true, options: OPTIONS });
  } catch (error) {
    return { error: (error as Error).message };
  }
  const { positionals: names, values } = parsed;
  if (values.help) return "help";
  const isAsked = (name: string, asked: string) => name === asked || name.startsWith(`${asked}-`);
  const unknown = names.find((name) => !benchmarks.some((benchmark) => isAsked(benchmark.name, name)));
  if (unknown !== undefined) return { error: `there is no benchmark ${unknown}` };
  const asked = benchmarks.filter(
    ({ name }) => names.length === 0 || names.some((some) => isAsked(name, some)),
  );
  const minutes = Number(values.minutes ?? STEADY_MINUTES);
  if (!(minutes > 0)) return { error: `--minutes ${values.minutes} is no time` };
  return { benchmarks: asked, minutes, jsonFile: values.json };
}
