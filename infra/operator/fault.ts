// Why a command failed: one line for people, and an exit code for scripts.
import { failure, type Failure } from "../../shared/result.ts";

/** docs/rollcall.md lists them. */
export const EXIT_CODES = {
  done: 0,
  /** The command failed, or a check that it ran found something broken. */
  failed: 1,
  /** The command line, the environment or the configuration is wrong. */
  usage: 2,
  "not-found": 3,
  /** The Worker refuses these credentials, or refuses them this action. */
  refused: 4,
  unreachable: 5,
  /** The time ran out before the awaited state came. */
  "not-yet": 6,
} as const;

export interface OperatorFault {
  reason: Exclude<keyof typeof EXIT_CODES, "done">;
  /** One line, without the program's name. */
  message: string;
}

export function fault(reason: OperatorFault["reason"], message: string): Failure<OperatorFault> {
  return failure({ reason, message });
}
