// Runs mutants with Stryker, in a copy of the project that contains all of them. Each mutant runs with the tests
// that reach it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { MutantResult, MutantStatus } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";
import { type Candidate, keyOf, MUTATOR, rangeOf } from "./candidates.ts";
import { CHOSEN_KEYS } from "./plugin.ts";

/**
 * The outcome of a mutant. `no test`: no test reaches it. `static`: it runs while a module loads, before any test,
 * and was not run. `broken`: with it, tests fail before they start. `equivalent`: it has no observable effect, and
 * was not run.
 */
export type Outcome = "killed" | "timed out" | "survived" | "no test" | "static" | "broken" | "equivalent";

export interface Verdict {
  candidate: Candidate;
  outcome: Outcome;
}

/** The tests that run with mutants. */
export interface Run {
  runtime: "workerd" | "node";
  /** Glob patterns of the test files' paths. */
  tests: readonly string[];
}

/** The number of processes. Each runs vitest and a workerd of its own. */
const PROCESSES = 2;

/**
 * The milliseconds that a test may take longer with a mutant than without. After them, the mutant is considered to
 * loop, and the test fails.
 */
const PATIENCE_MS = 30_000;
/** The time limit for all tests without a mutant. The tests take about two minutes on two free cores. */
const FIRST_RUN_MINUTES = 30;

export async function runMutants(chosen: readonly Candidate[], { runtime, tests }: Run): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-mutation-"));
  try {
    const stryker = new Stryker({
      testRunner: "vitest",
      plugins: ["@stryker-mutator/vitest-runner", resolve(import.meta.dirname, "plugin.ts")],
      // Only the chosen places are mutated: with all places of these files, each test's coverage would fill the
      // runner's memory.
      mutate: [...new Set(chosen.map(rangeOf))],
      mutator: MUTATOR,
      ignorers: ["noise"],
      checkers: ["chosen"],
      [CHOSEN_KEYS]: chosen.map(({ key }) => key),
      vitest: { configFile: `test/lab/mutation/${runtime}.config.ts`, related: false },
      testFiles: [...tests],
      coverageAnalysis: "perTest",
      ignoreStatic: true,
      concurrency: PROCESSES,
      timeoutMS: PATIENCE_MS,
      dryRunTimeoutMinutes: FIRST_RUN_MINUTES,
      tempDirName: folder,
      cleanTempDir: "always",
      ignorePatterns: [".rollcall", "dist"],
      // Stryker must not add @ts-nocheck to the copied sources: a test compares a source with a page word for word.
      disableTypeChecks: false,
      reporters: process.stderr.isTTY ? ["progress"] : [],
      logLevel: "error",
      allowConsoleColors: false,
      warnings: false,
    } as ConstructorParameters<typeof Stryker>[0]);
    return verdictsOf(chosen, await stryker.runMutationTest());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const OUTCOMES: Partial<Record<MutantStatus, Outcome>> = {
  Killed: "killed",
  Timeout: "timed out",
  Survived: "survived",
  NoCoverage: "no test",
  Ignored: "static",
};

export function verdictsOf(chosen: readonly Candidate[], results: readonly MutantResult[]): Verdict[] {
  const statuses = new Map(results.map((result) => [keyOf(fromZero(result)), result.status]));
  return chosen.map((candidate) => {
    const status = statuses.get(candidate.key);
    if (status === undefined) throw new Error(`Stryker says nothing about ${candidate.key}`);
    return { candidate, outcome: OUTCOMES[status] ?? "broken" };
  });
}

/** Converts a result's lines and columns, which count from 1, to a count from 0. */
function fromZero(result: MutantResult): MutantResult {
  const { start, end } = result.location;
  const before = ({ line, column }: typeof start) => ({ line: line - 1, column: column - 1 });
  return { ...result, location: { start: before(start), end: before(end) } };
}
