// The Worker's log: a line of JSON for each thing about a machine that the Worker's operator may need. It never has a
// secret in it.
import type { CheckResult } from "../shared/deployment/check-result.ts";
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";

export type MachineLog = (message: string, error?: ApiError) => void;

/** The log has the whole reason; the machine gets a phase alone. */
export function machineLog(name: string): MachineLog {
  return (message, error) =>
    console.log(JSON.stringify({ node: name, message, ...(error && { error: apiErrorText(error) }) }));
}

/** With the first request to an isolate: what of the configuration is not as it should be, for who deploys the Worker. */
export function logConfiguration(findings: readonly CheckResult[]): void {
  for (const { check, state, message, cure } of findings)
    if (state !== "ok") console.error(JSON.stringify({ message: `${check}: ${message}`, cure }));
}
