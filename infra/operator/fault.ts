// Why a command has failed: in one line, and as the exit code that scripts read. Knows no command.
import { failure, type Failure } from "../../shared/result.ts";

/** docs/rollcall.md lists them. */
export const EXIT_CODES = {
  done: 0,
  /** It was tried, and has failed; or what was looked at does not work. */
  failed: 1,
  /** The command line, the environment or the configuration is wrong. */
  usage: 2,
  "not-found": 3,
  /** The Worker does not let this operator do it. */
  refused: 4,
  unreachable: 5,
  /** What was waited for has not come in time. */
  "not-yet": 6,
} as const;

export interface OperatorFault {
  reason: Exclude<keyof typeof EXIT_CODES, "done">;
  /** One line, without the program's name. */
  says: string;
}

export function fault(reason: OperatorFault["reason"], says: string): Failure<OperatorFault> {
  return failure({ reason, says });
}
