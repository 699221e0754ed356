// Runs the checks of checks.ts against real releases of Kubernetes, and records the results in results.json
// (`npm run compatibility -- FOLDER …`).
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { REPORTERS, runSuite } from "../../run-suite.ts";
import { CHECKS, compatibilityTable, recordedResults, RESULTS_FILE, type Results } from "./checks.ts";

const NAMES = Object.keys(CHECKS);
const HELP = `Usage: npm run compatibility -- [--only CHECK]… [FOLDER…]
Runs ${NAMES.join(", ")} against the programs of each folder (etcd, kube-apiserver, kubectl, kube-controller-manager,
e2e.test), by default the folder of KUBEBUILDER_ASSETS. A check whose program is missing is not run. Records the results, of
which npm run generate makes the table in docs/cluster.md.
Exit codes: 0; 1 if more tests fail on a release than recorded; 2 for a wrong command line.`;

/** Returns the release of a folder's kube-apiserver, such as "1.36.3". */
function releaseOf(folder: string): string {
  const text = execFileSync(join(folder, "kube-apiserver"), ["--version"], { encoding: "utf8" });
  const release = /v(\d+\.\d+\.\d+)/.exec(text)?.[1];
  if (release === undefined) throw new Error(`kube-apiserver --version printed ${text}`);
  return release;
}

/** Runs checks against one folder's programs. Returns the failed tests. */
async function runChecks(folder: string, names: readonly string[], results: Results): Promise<string[]> {
  const release = releaseOf(folder);
  const reports = mkdtempSync(join(tmpdir(), "rollcall-compatibility-"));
  const of = (results[release] ??= {});
  const failures: string[] = [];
  try {
    for (const name of names) {
      const { project, file } = CHECKS[name]!;
      console.log(`\n== ${release} ${name}`);
      const command = ["vitest", "run", "--project", project, file, ...REPORTERS];
      const outcome = await runSuite(name, ["npm", "exec", "--", ...command], reports, {
        KUBEBUILDER_ASSETS: resolve(folder),
      });
      const { passed, failed } = outcome;
      if (failed > (of[name]?.failed ?? 0))
        failures.push(...outcome.failures.map((each) => `${release} ${each}`));
      // Without its program a check runs no test, and an earlier result stays.
      if (passed + failed > 0) of[name] = { passed, failed };
      writeFileSync(RESULTS_FILE, `${JSON.stringify(results, null, 2)}\n`);
    }
  } finally {
    rmSync(reports, { recursive: true });
  }
  return failures;
}

const { values, positionals } = parseArgs({
  options: { only: { type: "string", multiple: true, default: NAMES }, help: { type: "boolean" } },
  allowPositionals: true,
});
const given = process.env["KUBEBUILDER_ASSETS"];
const folders = positionals.length > 0 || given === undefined ? positionals : [given];
if (values.help === true || folders.length === 0 || values.only.some((name) => !NAMES.includes(name))) {
  console.error(HELP);
  process.exit(values.help === true ? 0 : 2);
}
execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
const results = recordedResults();
const failures: string[] = [];
for (const folder of folders) failures.push(...(await runChecks(folder, values.only, results)));
for (const row of compatibilityTable(results)) console.log(row.join(" | "));
if (failures.length > 0) console.log(`\nFailed, beyond what was recorded:\n${failures.join("\n")}`);
process.exitCode = failures.length > 0 ? 1 : 0;
