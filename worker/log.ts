// The Worker's log: a line of JSON for each thing about a machine that the Worker's operator may need. It never has a
// secret in it.
import type { CheckResult } from "../shared/deployment/check-result.ts";
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";
import type { LogMessage } from "./log-table.ts";

export interface LogLine {
  message: LogMessage;
  /** The machine's name, what went wrong, and other values. */
  [value: string]: unknown;
}
export type Log = (line: LogLine) => void;

/** One line of JSON. */
export const logNote: Log = (line) => console.log(JSON.stringify(line));
/** The same, as an error. */
export const logFailure: Log = (line) => console.error(JSON.stringify(line));

/** A line about the watch of the Nodes, which `rollcall cluster` shows: it has no row in the table. */
export function logClusterLine(message: string): void {
  console.log(JSON.stringify({ message }));
}

/** Of one machine. */
export type MachineLog = (message: LogMessage, error?: ApiError) => void;

/** The log has the whole reason; the machine gets a phase alone. */
export function machineLog(name: string): MachineLog {
  return (message, error) => logNote({ node: name, message, ...(error && { error: apiErrorText(error) }) });
}

/** With the first request to an isolate: what of the configuration is not as it should be, for who deploys the Worker. */
export function logConfiguration(findings: readonly CheckResult[]): void {
  for (const { check, state, message, cure } of findings)
    if (state !== "ok") console.error(JSON.stringify({ message: `${check}: ${message}`, cure }));
}
