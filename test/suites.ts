// Runs the suites one after another, each with a time limit of its own and none repeated (`npm run test:all`).
// Prints a line for each suite, the skipped and the failed tests, and last: N passed, M failed.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReportLine, SuiteFigures } from "./suite-report.ts";

/** The npm script of each suite. */
const SCRIPTS: Record<string, string> = {
  quick: "test",
  process: "test:process",
  e2e: "test:e2e",
  page: "test:page",
  deploy: "test:deploy",
  cluster: "test:cluster",
  neighbours: "test:neighbours",
  runtimes: "test:runtimes",
};

/**
 * The time limit of a suite in seconds: several times the duration of the slowest suite on two busy cores. Only a
 * suite that hangs reaches it.
 */
const LIMIT_S = 900;
/** Milliseconds from SIGTERM to SIGKILL. */
const GRACE_MS = 20_000;

interface Outcome extends SuiteFigures {
  seconds: number;
}

async function runSuite(name: string, script: string, folder: string): Promise<Outcome> {
  const report = join(folder, name);
  const beganMs = performance.now();
  const vitest = ["--reporter=default", "--reporter=./test/suite-report.ts"];
  const child = spawn("npm", ["run", "--silent", script, "--", ...vitest], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, SUITE_REPORT: report },
    // The suite has a process group of its own, so that a suite that hangs is ended with all processes that it has
    // started.
    detached: true,
  });
  const signal = (which: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, which);
  };
  const interrupted = () => signal("SIGTERM");
  process.on("SIGINT", interrupted).on("SIGTERM", interrupted);
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    const left = filesLeft(linesOf(report));
    console.log(`\n${name} has not ended after ${LIMIT_S} s. ${left}`);
    signal("SIGTERM");
    setTimeout(() => signal("SIGKILL"), GRACE_MS).unref();
  }, LIMIT_S * 1000);
  const code = await new Promise<number | null>((resolve) => void child.on("exit", resolve));
  clearTimeout(limit);
  process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
  const figures = linesOf(report).flatMap((line) => ("figures" in line ? [line.figures] : []))[0];
  const { passed = 0, failed = 0, skipped = {}, failures = [] } = figures ?? {};
  const isWell = code === 0 && !isLate && figures !== undefined;
  return {
    passed,
    failed: failed === 0 && !isWell ? 1 : failed,
    skipped,
    failures,
    seconds: (performance.now() - beganMs) / 1000,
  };
}

function linesOf(report: string): ReportLine[] {
  try {
    const lines = readFileSync(report, "utf8").trim().split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as ReportLine);
  } catch {
    return [];
  }
}

/** Returns a line about the test files that have begun and not ended. */
function filesLeft(lines: readonly ReportLine[]): string {
  const ended = new Set(lines.flatMap((line) => ("ended" in line ? line.ended : [])));
  const left = lines.flatMap((line) => ("begun" in line && !ended.has(line.begun) ? line.begun : []));
  if (left.length > 0) return `These files have not ended:\n${left.map((file) => `  ${file}`).join("\n")}`;
  return `All files that began have ended; the last one is ${[...ended].at(-1) ?? "none"}.`;
}

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
  console.log(`\n== ${name}`);
  const outcome = await runSuite(name, script, folder);
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
