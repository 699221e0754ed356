// Reads the answer to a counted report. Any result but a Ready Node ends the benchmark.
import type { ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";

/** Returns the milliseconds until the next report. Throws unless the machine is `registered` and Ready. */
export function nextInMs(name: string, outcome: ReportOutcome): number {
  if (!outcome.ok) throw new Error(`a report of ${name} was not taken: ${JSON.stringify(outcome)}`);
  const { phase, ready, reportInMs } = outcome.value;
  if (phase !== "registered" || !ready) throw new Error(`${name} is ${phase}`);
  return reportInMs;
}
