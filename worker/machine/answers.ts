// What a machine's object answers a request of its machine: a Result, which each transport puts on its wire. Knows no
// HTTP.
import type { LeaveAnswer, Reason, ReportAnswer, RotationAnswer } from "../../shared/protocol/answers.ts";
import type { Failure, Result } from "../../shared/result.ts";

/** Where a body or facts do not follow the protocol. */
export interface BodyFault {
  /** JSON Pointer. */
  path: string;
  message: string;
}

/** Why a request was refused. Changes nothing, but for "not-removed", which a repetition continues. */
export type Refusal =
  | { reason: Extract<Reason, "unauthenticated" | "key-revoked" | "invalid-json"> }
  | { reason: Extract<Reason, "invalid-body">; fault: BodyFault }
  /** The machine repeats at once, under `ticket`; `factsWanted`: with its facts. */
  | { reason: Extract<Reason, "ticket-stale" | "facts-unknown">; ticket: string; factsWanted?: boolean }
  | { reason: Extract<Reason, "rate-limited">; retryAfterSeconds: number }
  | { reason: Extract<Reason, "not-removed">; ticket: string };

export type MachineAnswer = Result<ReportAnswer | RotationAnswer | LeaveAnswer, Refusal>;

export const UNAUTHENTICATED = {
  ok: false,
  error: { reason: "unauthenticated" },
} as const satisfies Failure<Refusal>;
export const KEY_REVOKED = {
  ok: false,
  error: { reason: "key-revoked" },
} as const satisfies Failure<Refusal>;

/** When a name that has changed too often in a day is asked for again: it is one change an hour. */
export const CHANGE_AGAIN_SECONDS = 3600;
export const CHANGED_TOO_OFTEN = {
  ok: false,
  error: { reason: "rate-limited", retryAfterSeconds: CHANGE_AGAIN_SECONDS },
} as const satisfies Failure<Refusal>;

/** The error that a call of `forget` ends with, since the object ends itself. */
export const FORGOTTEN = "the machine has left";
