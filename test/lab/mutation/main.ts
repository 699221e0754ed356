// Breaks the sources in one place at a time, and checks whether a test fails (`npm run mutation`).
import { globSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { HELP, type Options, optionsOf } from "./options.ts";
import { reportOf } from "./report.ts";
import type { Candidate } from "./candidates.ts";
import type { Run, Verdict } from "./run.ts";
import { sampleOf } from "./sample.ts";
import { percentOf, scoresOf, totalOf } from "./score.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

const filesIn = (folder: string) =>
  globSync(folder.endsWith(".ts") ? folder : `${folder}/*.ts`, { cwd: ROOT }).toSorted();

/** Returns the runs for these files: the shim's sources run on Node, all others in workerd. */
function runsFor(candidates: readonly Candidate[]): (Run & { tried: Candidate[] })[] {
  const shims = candidates.filter(({ file }) => file.startsWith("node-shim/"));
  const others = candidates.filter((candidate) => !shims.includes(candidate));
  // Only the shared sources need the shared tests, which take as long as all others.
  const ofShared = others.some(({ file }) => file.startsWith("shared/"))
    ? ["test/{shared,vectors}/**/*.test.ts"]
    : [];
  // The shim's commands and its loop use all other parts of the shim. base/ tests each path that the shim trusts.
  const folders = new Set(["base", "commands", "loop"].map((folder) => `node-shim/${folder}`));
  for (const { file } of shims) folders.add(dirname(file));
  const runs = [
    { runtime: "workerd", tests: ["test/{worker,stories}/**/*.test.ts", ...ofShared], tried: others },
    { runtime: "node", tests: [...folders].map((folder) => `test/${folder}/**/*.test.ts`), tried: shims },
  ] as const;
  return runs.filter(({ tried }) => tried.length > 0);
}

async function measure({ folders, sample, seed, threshold, json }: Options): Promise<number> {
  // The modules are imported only here: help and a wrong command line do not wait for Stryker.
  const [{ candidatesOf, readSources }, { isEquivalent, staleOf }, { runMutants }] = await Promise.all([
    import("./candidates.ts"),
    import("./equivalents.ts"),
    import("./run.ts"),
  ]);
  const candidates = await candidatesOf(readSources(folders.flatMap(filesIn)));
  const stale = staleOf(candidates).filter(({ file }) => candidates.some((each) => each.file === file));
  for (const { file, lineText, original } of stale)
    process.stdout.write(
      `${file}: test/lab/mutation/table.ts has ${original} in ${lineText}, which is no mutant\n`,
    );

  const chosen = sampleOf(candidates, { size: sample, seed });
  const apart = chosen.filter((candidate) => isEquivalent(candidate));
  const tried = chosen.filter((candidate) => !apart.includes(candidate));
  const verdicts: Verdict[] = [];
  for (const run of runsFor(tried)) verdicts.push(...(await runMutants(run.tried, run)));
  verdicts.push(...apart.map((candidate) => ({ candidate, outcome: "equivalent" as const })));
  process.stdout.write(reportOf(verdicts));
  if (json !== undefined) writeFileSync(json, JSON.stringify({ seed, verdicts }, null, 2));
  return stale.length === 0 && percentOf(totalOf(scoresOf(verdicts))) >= threshold ? 0 : 1;
}

function refuse(message: string): number {
  process.stderr.write(`npm run mutation: ${message}\n\n${HELP}`);
  return 2;
}

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  if (!options.ok) return refuse(options.error);
  if (options.value === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  const empty = options.value.folders.find((folder) => filesIn(folder).length === 0);
  if (empty !== undefined) return refuse(`--folder ${empty}: no source is there`);
  try {
    return await measure(options.value);
  } catch (error) {
    process.stderr.write(`npm run mutation: ${(error as Error).message}\n`);
    return 1;
  }
}

process.exitCode = await main();
