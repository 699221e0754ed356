// Runs benchmarks by name (or the start of names) and prints their results.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Benchmark, Figures } from "./benchmark.ts";
import { figuresJson, tableText } from "./output.ts";
import { figuresOf, verdictOf } from "./rounds.ts";

/** The streams for the output, typically process.stdout and process.stderr. */
export interface Streams {
  out: { write: (text: string) => unknown; isTTY?: boolean };
  err: { write: (text: string) => unknown; isTTY?: boolean };
}

/**
 * Runs the benchmarks. `args` are `[NAME…] [--minutes N] [--json FILE]`, or `--help`. Returns the exit code: 1 for
 * a missed budget or a failed measurement, 2 for wrong arguments.
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
  const { all, details, failures, notMeasured } = await measureAll(chosen, err);
  out.write(tableText(all, out.isTTY === true && !process.env["NO_COLOR"]));
  for (const [why, names] of notMeasured) out.write(`not measured: ${names.join(", ")}: ${why}\n`);
  for (const text of details) out.write(text);
  if (chosen.jsonFile !== undefined) {
    try {
      writeFileSync(chosen.jsonFile, figuresJson(all));
    } catch (error) {
      failures.push((error as Error).message);
    }
  }
  for (const failure of failures) err.write(`bench: ${failure}\n`);
  return failures.length > 0 || all.some((figures) => verdictOf(figures) === "MISSED") ? 1 : 0;
}

/**
 * Runs the benchmarks one after the other, because they would slow each other down. Prints the name of the running
 * one on a terminal.
 */
async function measureAll(
  { benchmarks, minutes }: Pick<Choice, "benchmarks" | "minutes">,
  progress: Streams["err"],
): Promise<{ all: Figures[]; details: Set<string>; failures: string[]; notMeasured: Map<string, string[]> }> {
  const all: Figures[] = [];
  const details = new Set<string>();
  const failures: string[] = [];
  const notMeasured = new Map<string, string[]>();
  for (const [index, { measure, lacks, details: detailsOf, ...budget }] of benchmarks.entries()) {
    if (lacks !== undefined) {
      notMeasured.set(lacks, [...(notMeasured.get(lacks) ?? []), budget.name]);
      continue;
    }
    const say = (message: string) => {
      if (!progress.isTTY) return;
      progress.write(`\r\u001B[K${index + 1}/${benchmarks.length} ${budget.name}${message}`);
    };
    say("");
    try {
      all.push(figuresOf(budget, await measure((message) => say(`: ${message}`), minutes)));
      if (detailsOf) details.add(detailsOf());
    } catch (error) {
      failures.push(`${budget.name}: ${(error as Error).message}`);
    }
  }
  if (progress.isTTY) progress.write("\r\u001B[K");
  return { all, details, failures, notMeasured };
}

/** Minutes for which a steady state is measured, unless --minutes sets them. */
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
       npm run bench -- compare TREE [--json FILE]
       npm run bench -- flood [--json FILE]

Measures what is promised and prints it beside its budget; without a NAME all of it, which takes most of an hour. The
beginning of names, up to a dash, is enough. --minutes is how long what is steady is watched (${STEADY_MINUTES}).

What takes time is judged as a ratio (×) to a yardstick that is measured beside it in turns, so that a busy machine slows
both; MIN–MAX are the rounds' own medians, and tell how busy it was. The figures themselves are not judged. Counts and
bytes are judged as they are. With KUBEBUILDER_ASSETS set, a real etcd and kube-apiserver take part, and, as root and
with containerd, a kubelet as the shim's yardstick. docs/bench.md has all budgets and yardsticks.

compare runs the decision and the heartbeats of this tree and of another one (a folder with its node_modules, or a git
revision, which gets this tree's) in turns: this one may take 1.1 times as long.

flood measures what a flood by the Worker's account leaves to others, with infra/rbac/flow-control.yaml and without it. It
takes KUBEBUILDER_ASSETS and two minutes, and is no part of the rest.

Exit codes: 0; 1 when a budget is missed or something could not be measured; 2 for a wrong command line.

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
