// The Worker's log: a line of JSON for each thing about a machine that the Worker's operator may need. It never has a
// secret in it.
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";

export type MachineLog = (message: string, error?: ApiError) => void;

/** The log has the whole reason; the machine gets a phase alone. */
export function machineLog(name: string): MachineLog {
  return (message, error) =>
    console.log(JSON.stringify({ node: name, message, ...(error && { error: apiErrorText(error) }) }));
}
