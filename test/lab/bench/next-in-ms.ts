// Reads the answer to a counted report: anything but a Ready Node ends the benchmark.
import type { ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";

/** Returns the milliseconds until the next report. */
export function nextInMs(name: string, outcome: ReportOutcome): number {
  if (!outcome.ok) throw new Error(`a report of ${name} was not taken: ${JSON.stringify(outcome)}`);
  const { phase, ready, reportInMs } = outcome.value;
  if (phase !== "registered" || !ready) throw new Error(`${name} is ${phase}`);
  return reportInMs;
}
