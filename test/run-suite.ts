// Runs the command of one suite with a time limit, and reads the figures that suite-report.ts writes.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReportLine, SuiteFigures } from "./suite-report.ts";

/**
 * The time limit of a suite in seconds: several times the duration of the slowest suite on two busy cores. Only a
 * suite that hangs reaches it.
 */
const LIMIT_S = 900;
/** Milliseconds from SIGTERM to SIGKILL. */
const GRACE_MS = 20_000;

/** The flags with which vitest prints its tests, and writes the figures that runSuite reads. */
export const REPORTERS = ["--reporter=default", "--reporter=./test/suite-report.ts"];

interface Outcome extends SuiteFigures {
  seconds: number;
}

/**
 * Runs the command of a suite, and ends it at the time limit. `folder` holds the suites' figures by their names; `env`
 * has further variables. A command that writes no figures counts as one failed test.
 */
export async function runSuite(
  name: string,
  [program = "", ...args]: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const report = join(folder, name);
  const beganMs = performance.now();
  const child = spawn(program, args, {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...env, SUITE_REPORT: report },
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
