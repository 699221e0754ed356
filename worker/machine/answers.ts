// The answers of a machine's object to its machine. They are tagged results; the routes and the gateway put them on wires.
import type {
  LeaveAnswer,
  Reason,
  ReportAnswer,
  RotationAnswer,
  UpgradeAnswer,
} from "../../shared/protocol/answers.ts";
import { failure, type Result } from "../../shared/result.ts";

/** The first place where a body or facts do not follow the protocol. */
export interface BodyFault {
  /** JSON Pointer. */
  path: string;
  message: string;
}

/** Why a request was refused. Only after "not-removed" has it changed anything: a repeated request continues the removal. */
export type Refusal =
  | { reason: Extract<Reason, "unauthenticated" | "wrong-origin" | "key-revoked" | "invalid-json"> }
  | { reason: Extract<Reason, "invalid-body">; fault: BodyFault }
  /** The machine repeats its report at once under `ticket`, and with its facts if `factsWanted`. */
  | { reason: Extract<Reason, "ticket-stale" | "facts-unknown">; ticket: string; factsWanted?: boolean }
  | { reason: Extract<Reason, "rate-limited">; retryAfterSeconds: number }
  | { reason: Extract<Reason, "not-removed">; ticket: string };

/** The answer to a report. `gateway`: the number of the gateway that the machine may open a socket to. */
export type ReportReply = ReportAnswer & { gateway?: number };

export type MachineAnswer = Result<ReportReply | RotationAnswer | LeaveAnswer | UpgradeAnswer, Refusal>;

export const UNAUTHENTICATED = failure<Refusal>({ reason: "unauthenticated" });
export const WRONG_ORIGIN = failure<Refusal>({ reason: "wrong-origin" });
export const KEY_REVOKED = failure<Refusal>({ reason: "key-revoked" });

/** The Retry-After of a name whose key has changed too often in a day. On average it may change once an hour. */
export const CHANGE_AGAIN_SECONDS = 3600;
export const CHANGED_TOO_OFTEN = failure<Refusal>({
  reason: "rate-limited",
  retryAfterSeconds: CHANGE_AGAIN_SECONDS,
});

/** For a machine that has used up its requests to the apiserver or the fleet index. It has some again after a minute. */
export const ASKED_TOO_OFTEN = failure<Refusal>({ reason: "rate-limited", retryAfterSeconds: 60 });

/** The error of a call of `forget`, since the object aborts itself. */
export const FORGOTTEN = "the machine is forgotten";
