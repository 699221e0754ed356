// Defines the answers of a node object to its machine, as tagged results. The routes turn them into HTTP, the
// gateway into frames.
import type {
  LeaveAnswer,
  Reason,
  ReportAnswer,
  RotationAnswer,
  UpgradeAnswer,
} from "../../shared/protocol/answers.ts";
import { failure, type Result } from "../../shared/result.ts";

/** The first place where a request's body, or the facts in a report, do not follow the protocol. */
export interface BodyFault {
  /** The JSON Pointer to the invalid value. */
  path: string;
  message: string;
}

/**
 * The reason why the node object refuses a request. Only after "not-removed" has the request changed anything: the
 * removal has begun, and a repeated request continues the removal.
 */
export type Refusal =
  | { reason: Extract<Reason, "unauthenticated" | "wrong-origin" | "key-revoked" | "invalid-json"> }
  | { reason: Extract<Reason, "invalid-body">; fault: BodyFault }
  /** The machine must repeat its report at once under `ticket`, and with its facts if `factsWanted`. */
  | { reason: Extract<Reason, "ticket-stale" | "facts-unknown">; ticket: string; factsWanted?: boolean }
  | { reason: Extract<Reason, "rate-limited">; retryAfterSeconds: number }
  | { reason: Extract<Reason, "not-removed">; ticket: string };

/** The answer to a report. `gateway`: the number of the gateway that the machine may open a socket to. */
export type ReportReply = ReportAnswer & { gateway?: number };

export type MachineAnswer = Result<ReportReply | RotationAnswer | LeaveAnswer | UpgradeAnswer, Refusal>;

export const UNAUTHENTICATED = failure<Refusal>({ reason: "unauthenticated" });
export const WRONG_ORIGIN = failure<Refusal>({ reason: "wrong-origin" });
export const KEY_REVOKED = failure<Refusal>({ reason: "key-revoked" });

/** The Retry-After, in seconds, for a name whose key has changed too often in a day. */
export const CHANGE_AGAIN_SECONDS = 3600;
export const CHANGED_TOO_OFTEN = failure<Refusal>({
  reason: "rate-limited",
  retryAfterSeconds: CHANGE_AGAIN_SECONDS,
});

/**
 * The refusal of a machine that has used up its requests to the apiserver or the fleet index. Its request budget
 * refills within a minute.
 */
export const ASKED_TOO_OFTEN = failure<Refusal>({ reason: "rate-limited", retryAfterSeconds: 60 });

/** The error that a caller of `forget` gets: the node object erases its storage and aborts itself. */
export const FORGOTTEN = "the machine is forgotten";
