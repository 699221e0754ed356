// A node object's answers to its machine, as tagged results. Routes turn them into HTTP, the gateway into frames.
import type {
  LeaveAnswer,
  Reason,
  ReportAnswer,
  RotationAnswer,
  UpgradeAnswer,
} from "../../shared/protocol/answers.ts";
import type { PartAnswer } from "../../shared/protocol/asking.ts";
import { failure, type Result } from "../../shared/result.ts";

/** The first place where a request's body, or the facts in a report, do not follow the protocol. */
export interface BodyFault {
  /** The JSON Pointer to the invalid value. */
  path: string;
  message: string;
}

/** The reason for refusing a request. Only "not-removed" follows a change: a repeated request continues the removal. */
export type Refusal =
  | { reason: Extract<Reason, "unauthenticated" | "wrong-origin" | "key-revoked" | "invalid-json"> }
  | { reason: Extract<Reason, "invalid-body">; fault: BodyFault }
  /** The machine must repeat its report at once under `ticket`, and with its facts if `factsWanted`. */
  | { reason: Extract<Reason, "ticket-stale" | "facts-unknown">; ticket: string; factsWanted?: boolean }
  | { reason: Extract<Reason, "rate-limited" | "busy">; retryAfterSeconds: number }
  | { reason: Extract<Reason, "not-removed">; ticket: string };

/** The answer to a report. `gateway`: the number of the gateway that the machine may open a socket to. */
export type ReportReply = ReportAnswer & { gateway?: number };

export type MachineAnswer = Result<
  ReportReply | RotationAnswer | LeaveAnswer | UpgradeAnswer | PartAnswer,
  Refusal
>;

export const UNAUTHENTICATED = failure<Refusal>({ reason: "unauthenticated" });
export const WRONG_ORIGIN = failure<Refusal>({ reason: "wrong-origin" });
export const KEY_REVOKED = failure<Refusal>({ reason: "key-revoked" });

/** The Retry-After, in seconds, for a name whose key has changed too often in a day. */
export const CHANGE_AGAIN_SECONDS = 3600;
export const CHANGED_TOO_OFTEN = failure<Refusal>({
  reason: "rate-limited",
  retryAfterSeconds: CHANGE_AGAIN_SECONDS,
});

/** The refusal of a machine that used up its requests to the apiserver or index, which refill within a minute. */
export const ASKED_TOO_OFTEN = failure<Refusal>({ reason: "rate-limited", retryAfterSeconds: 60 });

/**
 * Returns the seconds until a machine may ask a busy Worker again. Machines that are refused together spread. `random`
 * is typically Math.random.
 */
export const busySeconds = (random: () => number): number => 3 + Math.floor(8 * random());

/** Returns the refusal of a report that waited for this object until its machine no longer waits for the answer. */
export const tooLate = (random: () => number) =>
  failure<Refusal>({ reason: "busy", retryAfterSeconds: busySeconds(random) });

/** The error that a caller of `forget` gets: the node object erases its storage and aborts itself. */
export const FORGOTTEN = "the machine is forgotten";
