// Runs every recording of a folder against shared/: npm run vectors -- [DIR] [--only FILE].
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { families } from "./families.ts";
import { type Family, type Recording, runCase } from "./family.ts";

/**
 * The cases that Kubernetes 1.36 records otherwise, by file: `shared/` follows 1.37 in a cluster of any release. README.md
 * names the differences.
 */
const OTHERWISE_IN_1_36: Readonly<Record<string, RegExp>> = {
  emptyFields: /runningInUserNamespace$/,
  ephemeralStorage: /^/,
  nodeAllocatable: /^cpu below a milli/,
  nodeStatusHasChanged: /^user namespace/,
  patchNodeStatus: /^user namespace/,
};

interface Tally {
  passed: number;
  failed: number;
  /** The number of cases in which `shared/` follows a newer release than the recorded one. */
  newer: number;
  firstDifference?: string;
}

async function runFile(name: string, family: Family, recording: Recording): Promise<Tally> {
  const tally: Tally = { passed: 0, failed: 0, newer: 0 };
  const otherwise = / v[01]\.36\./.test(recording.source) ? OTHERWISE_IN_1_36[name] : undefined;
  for (const recorded of recording.cases) {
    try {
      const { got, want } = await runCase(family, recorded);
      assert.deepEqual(got, want);
      tally.passed++;
    } catch (error) {
      if (otherwise?.test(recorded.name)) {
        tally.newer++;
        continue;
      }
      tally.failed++;
      const text = error instanceof assert.AssertionError ? error.message : (error as Error).stack;
      tally.firstDifference ??= `${recorded.name}\n${text}`;
    }
  }
  return tally;
}

function recordingFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith(".json"))
      .sort();
  } catch (error) {
    console.error(`vectors: cannot read the folder ${folder}: ${(error as Error).message}`);
    return process.exit(2);
  }
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: "string" } } });
const folder = positionals[0] ?? "test/vectors";
const names = recordingFiles(folder).map((file) => basename(file, ".json"));
const total: Tally = { passed: 0, failed: 0, newer: 0 };
for (const name of names.filter((name) => values.only === undefined || values.only === name)) {
  const recording: Recording = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const family = families[name];
  const tally: Tally = family
    ? await runFile(name, family, recording)
    : {
        passed: 0,
        failed: recording.cases.length || 1,
        newer: 0,
        firstDifference: "no family of recordings has this name",
      };
  total.passed += tally.passed;
  total.failed += tally.failed;
  total.newer += tally.newer;
  const newer = tally.newer > 0 ? `, and ${tally.newer} follow Kubernetes 1.37` : "";
  console.log(`${name}.json ${tally.passed}/${tally.passed + tally.failed}${newer}`);
  if (tally.firstDifference) console.log(tally.firstDifference.replaceAll(/^/gm, "    "));
}
if (names.length === 0) {
  console.error(`vectors: no recordings in ${folder}`);
  process.exit(2);
}
if (total.newer > 0) console.log(`${total.newer} follow Kubernetes 1.37 instead of 1.36`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 ? 1 : 0;
