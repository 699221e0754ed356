// Runs mutants with Stryker, in a copy of the project that contains all of them, each with the tests that reach it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { MutantResult, MutantStatus } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";
import { type Candidate, keyOf, MUTATOR, rangeOf } from "./candidates.ts";
import { CHOSEN_KEYS } from "./plugin.ts";

/**
 * `no test`: no test reaches it. `static`: it runs while a module loads, before any test, and was not run. `broken`:
 * with it, tests fail before they start. `equivalent`: it has no observable effect, and was not run.
 */
export type Outcome = "killed" | "timed out" | "survived" | "no test" | "static" | "broken" | "equivalent";

export interface Verdict {
  candidate: Candidate;
  outcome: Outcome;
}

/** Each process runs vitest and a workerd of its own. */
const PROCESSES = 2;

/**
 * A test with a looping mutant is slower: a test that takes this much longer than without the mutant counts as failed.
 */
const PATIENCE_MS = 10_000;
/** All tests, once without a mutant: about two minutes on two free cores. */
const FIRST_RUN_MINUTES = 30;

export async function runMutants(chosen: readonly Candidate[], tests: readonly string[]): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-mutation-"));
  try {
    const stryker = new Stryker({
      testRunner: "vitest",
      plugins: ["@stryker-mutator/vitest-runner", resolve(import.meta.dirname, "plugin.ts")],
      // With the places of all mutants in these files, each test's coverage would fill the runner's memory.
      mutate: [...new Set(chosen.map(rangeOf))],
      mutator: MUTATOR,
      ignorers: ["noise"],
      checkers: ["chosen"],
      [CHOSEN_KEYS]: chosen.map(({ key }) => key),
      vitest: { configFile: "test/lab/mutation/vitest.config.ts", related: false },
      testFiles: [...tests],
      coverageAnalysis: "perTest",
      ignoreStatic: true,
      concurrency: PROCESSES,
      timeoutMS: PATIENCE_MS,
      dryRunTimeoutMinutes: FIRST_RUN_MINUTES,
      tempDirName: folder,
      cleanTempDir: "always",
      ignorePatterns: [".rollcall", "dist"],
      // The copy checks no types; a test compares a source with a page word for word.
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

/** Converts results, whose lines and columns count from 1. */
function fromZero(result: MutantResult): MutantResult {
  const { start, end } = result.location;
  const before = ({ line, column }: typeof start) => ({ line: line - 1, column: column - 1 });
  return { ...result, location: { start: before(start), end: before(end) } };
}
