// What GET /readyz answers: each check of the deployment with its age, as JSON or as lines to read. Asks nobody: what
// was found is an argument.
import type { CheckResult } from "../../shared/deployment/check-result.ts";
import type { ReadinessAnswer } from "../../shared/protocol/operator-answers.ts";
import { VERSION } from "../../shared/version.ts";
import type { Isolate } from "../isolate.ts";

/** Milliseconds since 1970: when it was looked at, unless that was now. */
export interface Looked extends CheckResult {
  atMs?: number;
}

/** Since when each check has been as it is, as far as one isolate has seen. */
type Since = Isolate["since"];

export function readiness(found: readonly Looked[], since: Since, nowMs: number): ReadinessAnswer {
  const checks = found.map(({ atMs = nowMs, ...finding }) => ({
    ...finding,
    checkedAt: textOf(atMs),
    since: textOf(sinceOf(since, finding, atMs)),
  }));
  const states = new Set(checks.map(({ state }) => state));
  const state = (["failed", "warning"] as const).find((each) => states.has(each)) ?? "ok";
  return { state, version: VERSION, checks };
}

function sinceOf(since: Since, { check, state }: CheckResult, atMs: number): number {
  const known = since.get(check);
  if (known?.state === state) return known.sinceMs;
  since.set(check, { state, sinceMs: atMs });
  return atMs;
}

const textOf = (ms: number) => new Date(ms).toISOString();

const MARKS: Record<string, string> = { ok: "[+]", warning: "[!]", failed: "[-]" };

/** As the apiserver's /readyz?verbose reads. */
export function readinessText({ state, checks }: ReadinessAnswer): string {
  const lines = checks.map(({ check, state, message, cure, since }) => {
    const line = `${MARKS[state] ?? "[-]"}${check} ${state}: ${message} (since ${since})\n`;
    return cure === undefined ? line : `${line}   → ${cure}\n`;
  });
  return `${lines.join("")}readyz check ${state === "failed" ? "failed" : "passed"}\n`;
}
