// What is said to a report that is counted: anything but a Node that is Ready ends the benchmark.
import type { ReportOutcome } from "../../../node-shim/worker-link/reporter.ts";

/** When the next one is due, in milliseconds. */
export function nextInMs(name: string, outcome: ReportOutcome): number {
  if (!outcome.ok) throw new Error(`a report of ${name} was not taken: ${JSON.stringify(outcome)}`);
  const { phase, ready, reportInMs } = outcome.value;
  if (phase !== "registered" || !ready) throw new Error(`${name} is ${phase}`);
  return reportInMs;
}
