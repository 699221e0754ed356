// Runs the suites one after another, each with a time limit of its own and none repeated (`npm run test:all`).
// The suite newest runs only if KUBEBUILDER_ASSETS_1_37 names a folder. Prints a line for each suite, the skipped and the
// failed tests, and last: N passed, M failed.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REPORTERS, runSuite } from "./run-suite.ts";

/** The npm script of each suite. */
const SCRIPTS: Record<string, string> = {
  quick: "test",
  process: "test:process",
  e2e: "test:e2e",
  page: "test:page",
  deploy: "test:deploy",
  cluster: "test:cluster",
  newest: "test:newest",
  neighbours: "test:neighbours",
  runtimes: "test:runtimes",
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in SCRIPTS));
if (unknown.length > 0) {
  console.error(`no suite ${unknown.join(", ")}: there are ${Object.keys(SCRIPTS).join(", ")}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "rollcall-suites-"));
const lines: string[] = [];
const skipped: string[] = [];
const failures: string[] = [];
const sum = { passed: 0, failed: 0, seconds: 0 };
for (const [name, script] of Object.entries(SCRIPTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  if (name === "newest" && !existsSync(process.env["KUBEBUILDER_ASSETS_1_37"] ?? "")) continue;
  console.log(`\n== ${name}`);
  const outcome = await runSuite(name, ["npm", "run", "--silent", script, "--", ...REPORTERS], folder);
  const { passed, failed, seconds } = outcome;
  sum.passed += passed;
  sum.failed += failed;
  sum.seconds += seconds;
  const counts = Object.entries(outcome.skipped).map(([file, count]) => `  ${file}: ${count}`);
  skipped.push(...counts);
  failures.push(...outcome.failures.map((failure) => `  ${failure}`));
  const left = Object.values(outcome.skipped).reduce((total, count) => total + Number.parseInt(count, 10), 0);
  const words = [`${passed + failed} tests`, `${seconds.toFixed(0)} s`, `${left} skipped`];
  lines.push(
    [name.padEnd(9), ...words.map((word) => word.padStart(13)), failed > 0 ? "  FAILED" : ""].join(""),
  );
}
rmSync(folder, { recursive: true });
if (skipped.length > 0) console.log(`\nSkipped, because what they need is not here:\n${skipped.join("\n")}`);
if (failures.length > 0) console.log(`\nFailed:\n${failures.join("\n")}`);
console.log(
  `\n${lines.join("\n")}\nall: ${sum.seconds.toFixed(0)} s\n${sum.passed} passed, ${sum.failed} failed`,
);
process.exitCode = sum.failed > 0 ? 1 : 0;
