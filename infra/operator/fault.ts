// Defines the failures of a command: one line for people, and an exit code for scripts.
import { failure, type Failure } from "../../shared/result.ts";

/** The exit codes, which docs/rollcall.md lists. */
export const EXIT_CODES = {
  done: 0,
  /** The command failed, or a check that it ran found something broken. */
  failed: 1,
  /** The command line, the environment or the configuration is wrong. */
  usage: 2,
  "not-found": 3,
  /** The Worker refuses the credentials, or refuses the action to these credentials. */
  refused: 4,
  unreachable: 5,
  /** The time limit passed before the awaited state. */
  "not-yet": 6,
} as const;

export interface OperatorFault {
  reason: Exclude<keyof typeof EXIT_CODES, "done">;
  /** The message: one line, without the program's name. */
  message: string;
  /** The seconds after which the Worker takes the request, if it has named them. */
  retryAfterSeconds?: number;
}

export function fault(reason: OperatorFault["reason"], message: string): Failure<OperatorFault> {
  return failure({ reason, message });
}
