// Runs the test of one mutant, in a vitest of its own, and says what became of it.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Mutant } from "./mutant.ts";
import { MUTANT_VARIABLE } from "./plugin.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const VITEST = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");

/** `no test`: none of that name. `broken`: the tests could not even be loaded. */
export type MutantOutcome = "fails" | "survives" | "no test" | "broken";

/** The part of vitest's JSON that is looked at. */
interface Results {
  testResults: { assertionResults: { fullName: string; status: string }[] }[];
}

export async function runMutant({ defence, test, named }: Mutant): Promise<MutantOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-mutant-"));
  const file = join(folder, "results.json");
  const project = /^(worker|stories|faults)\//.test(test) ? "workerd" : "node";
  const pattern = named.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const args = [VITEST, "run", `test/${test}`, "--project", project, "-t", pattern];
  args.push("--reporter=json", `--outputFile=${file}`);
  try {
    const options = { cwd: ROOT, env: { ...process.env, [MUTANT_VARIABLE]: defence } };
    // Its exit code says less than its results.
    await new Promise((done) => execFile(process.execPath, args, options, done));
    return outcomeOf(JSON.parse(readFileSync(file, "utf8")) as Results, named);
  } catch {
    return "broken";
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function outcomeOf({ testResults }: Results, named: string): MutantOutcome {
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (tests.length === 0) return "broken";
  const ran = tests.filter(({ fullName, status }) => fullName.includes(named) && status !== "skipped");
  if (ran.length === 0) return "no test";
  return ran.some(({ status }) => status === "failed") ? "fails" : "survives";
}
