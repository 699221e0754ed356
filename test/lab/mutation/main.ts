// Breaks the sources in one place at a time, and checks whether a test fails (`npm run mutation`).
import { globSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { HELP, type Options, optionsOf } from "./options.ts";
import { reportOf } from "./report.ts";
import type { Candidate } from "./candidates.ts";
import type { Run, runMutants as RunMutants, Verdict } from "./run.ts";
import { sampleOf } from "./sample.ts";
import { isDetected, percentOf, scoresOf, totalOf } from "./score.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

const filesIn = (folder: string) =>
  globSync(folder.endsWith(".ts") ? folder : `${folder}/*.ts`, { cwd: ROOT }).toSorted();

/** The tests that run with a mutant, one run after the other until one detects it. `tests`: those for these folders. */
interface Stage {
  runtime: Run["runtime"];
  tests: (folders: readonly string[]) => readonly string[];
}

const testsOf = (folders: readonly string[]) => folders.map((folder) => `test/${folder}/**/*.test.ts`);
/** All tests in workerd but those of the folders, which have run before. */
const inTheWorker: Stage = {
  runtime: "workerd",
  tests: (folders) =>
    globSync("test/{worker,stories,faults}/**/*.test.ts", { cwd: ROOT, exclude: testsOf(folders) }),
};
// The tests of a mutant's own folder are first: they are few, and detect most mutants.
const STAGES: Record<string, readonly Stage[]> = {
  worker: [{ runtime: "workerd", tests: testsOf }, inTheWorker],
  shared: [
    { runtime: "node", tests: testsOf },
    { runtime: "node", tests: () => ["test/{shared,vectors}/**/*.test.ts"] },
    inTheWorker,
  ],
  "node-shim": [
    { runtime: "node", tests: testsOf },
    // The shim's commands and its loop use all other parts of the shim. base/ tests each path that the shim trusts.
    {
      runtime: "node",
      tests: (folders) =>
        testsOf([...folders, ...["base", "commands", "loop"].map((folder) => `node-shim/${folder}`)]),
    },
  ],
};

/** Runs the mutants of one room with its stages. */
async function verdictsIn(
  room: string,
  tried: readonly Candidate[],
  runMutants: typeof RunMutants,
): Promise<Verdict[]> {
  const found = new Map<Candidate, Verdict>();
  for (const { runtime, tests } of STAGES[room] ?? []) {
    const left = tried.filter((candidate) => !isDetected(found.get(candidate)));
    if (left.length === 0) break;
    const folders = [...new Set(left.map(({ file }) => dirname(file)))];
    for (const verdict of await runMutants(left, { runtime, tests: tests(folders) })) {
      const isReached = verdict.outcome !== "no test" && verdict.outcome !== "static";
      if (isReached || !found.has(verdict.candidate)) found.set(verdict.candidate, verdict);
    }
  }
  return [...found.values()];
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
  for (const room of Object.keys(STAGES)) {
    const ofRoom = tried.filter(({ file }) => file.startsWith(`${room}/`));
    verdicts.push(...(await verdictsIn(room, ofRoom, runMutants)));
  }
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
