// The Worker's log: a line of JSON for each thing that an operator of the Worker may want to know of a machine. Never a
// secret in it.
import { type ApiError, apiErrorText } from "../shared/kubernetes/api-error.ts";

export type MachineLog = (message: string, error?: ApiError) => void;

/** The whole reason goes here; the machine only gets a phase. */
export function machineLog(name: string): MachineLog {
  return (message, error) =>
    console.log(JSON.stringify({ node: name, message, ...(error && { error: apiErrorText(error) }) }));
}
