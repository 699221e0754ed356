// The answers of a machine's object to its machine: Results, which each transport puts on its wire. They have no HTTP
// status.
import type {
  LeaveAnswer,
  Reason,
  ReportAnswer,
  RotationAnswer,
  UpgradeAnswer,
} from "../../shared/protocol/answers.ts";
import type { Failure, Result } from "../../shared/result.ts";

/** Where a body or facts do not follow the protocol. */
export interface BodyFault {
  /** JSON Pointer. */
  path: string;
  message: string;
}

/** Why a request was refused. It changed nothing, except for "not-removed": a repetition continues that removal. */
export type Refusal =
  | { reason: Extract<Reason, "unauthenticated" | "wrong-origin" | "key-revoked" | "invalid-json"> }
  | { reason: Extract<Reason, "invalid-body">; fault: BodyFault }
  /** The machine repeats at once, under `ticket`; `factsWanted`: with its facts. */
  | { reason: Extract<Reason, "ticket-stale" | "facts-unknown">; ticket: string; factsWanted?: boolean }
  | { reason: Extract<Reason, "rate-limited">; retryAfterSeconds: number }
  | { reason: Extract<Reason, "not-removed">; ticket: string };

/** To a report; `gateway`: the number of the gateway whose socket it may use. A transport makes a path of it. */
export type ReportReply = ReportAnswer & { gateway?: number };

export type MachineAnswer = Result<ReportReply | RotationAnswer | LeaveAnswer | UpgradeAnswer, Refusal>;

export const UNAUTHENTICATED = {
  ok: false,
  error: { reason: "unauthenticated" },
} as const satisfies Failure<Refusal>;
export const WRONG_ORIGIN = {
  ok: false,
  error: { reason: "wrong-origin" },
} as const satisfies Failure<Refusal>;
export const KEY_REVOKED = {
  ok: false,
  error: { reason: "key-revoked" },
} as const satisfies Failure<Refusal>;

/** The Retry-After of a name that has changed too often in a day: on average it may change once an hour. */
export const CHANGE_AGAIN_SECONDS = 3600;
export const CHANGED_TOO_OFTEN = {
  ok: false,
  error: { reason: "rate-limited", retryAfterSeconds: CHANGE_AGAIN_SECONDS },
} as const satisfies Failure<Refusal>;

/** Who has used up its requests to what all machines share, the apiserver or the fleet index, has some again after a minute. */
export const ASKED_TOO_OFTEN = {
  ok: false,
  error: { reason: "rate-limited", retryAfterSeconds: 60 },
} as const satisfies Failure<Refusal>;

/** The error with which a call of `forget` fails, since the object aborts itself. */
export const FORGOTTEN = "the machine is forgotten";
