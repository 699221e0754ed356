// Defines the frames between a machine and its gateway: JSON with a `type`. Normative, with docs/protocol.md.
import * as z from "zod/mini";
import type { Problem, ReportAnswer } from "./answers.ts";
import type { AskingFrame } from "./asking.ts";
import { remainingSecondsSchema } from "./drop-ins.ts";
import { LIMITS } from "./limits.ts";
import { SIGNALS } from "./report.ts";
import { count } from "./schema.ts";

/** The frame of a report. As over HTTP, the JWT `token` signs `body`. */
export const reportFrameSchema = z.strictObject({
  type: z.literal("report"),
  token: z.string().check(z.maxLength(LIMITS.proofLength)),
  body: z.string(),
});
export type ReportFrame = z.infer<typeof reportFrameSchema>;

/** A heartbeat's first line, without fields that equal the last accepted report's. The second line is the MAC. */
export const heartbeatSchema = z.strictObject({
  type: z.literal("heartbeat"),
  /** The number of the heartbeat in its session: 1, 2, 3 … */
  n: z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER)),
  /** The time by the machine's clock, in milliseconds since 1970. The gateway computes the clock's skew from it. */
  at: count,
  /** The available amount of each signal, in the order of SIGNALS; null if the signal was not observed. */
  available: z.array(z.nullable(count)).check(z.length(SIGNALS.length)),
  /** The seconds for which each drop-in's condition remains valid, as in the vitals. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type HeartbeatFrame = z.infer<typeof heartbeatSchema>;

/** The number of characters of a heartbeat's MAC: base64url of the first 16 bytes of HMAC-SHA-256. */
export const HEARTBEAT_MAC_LENGTH = 22;

/** Returns the text that the MAC protects. `nonce`: from the socket's last answer; `payload`: the first line. */
export function heartbeatText(nonce: string, payload: string): string {
  return `rollcall-heartbeat\n${nonce}\n${payload}`;
}

/** Returns the HKDF's `info` (SHA-256, no salt, 32 bytes) to turn the X25519 secret into the session's HMAC key. */
export function sessionInfo(name: string, machineKey: string, workerKey: string): string {
  return `rollcall-session\n${name}\n${machineKey}\n${workerKey}`;
}

/** The reasons why a machine has to report at once. */
export const AGAIN_REASONS = [
  /** The gateway has no session for this socket, for example after a restart. */
  "no session",
  /** The heartbeat's `n`, nonce or MAC is not the expected one. */
  "not fresh",
  /** The vitals may change the Node or the node object's stored data. */
  "not quiet",
  /** The loan has ended: the status is due, the node object withdrew the loan, or the lease's PUT waited too long. */
  "over",
  /** Another writer has changed or deleted the lease. */
  "lease",
] as const;
export type AgainReason = (typeof AGAIN_REASONS)[number];

export const CLOSING_REASONS = [
  /** The frame is invalid or too large. */
  "bad frame",
  /** The machine sends frames too often. */
  "too often",
  /** The gateway has not accepted a report on this socket in time. */
  "no report",
  /** A later socket of this machine has replaced this socket. */
  "replaced",
  /** Three heartbeats in a row are missing. */
  "silent",
  /** The machine belongs to another gateway now. The next answer to a report names that gateway. */
  "moved",
  /** The Worker no longer accepts the machine's key. */
  "refused",
] as const;
export type ClosingReason = (typeof CLOSING_REASONS)[number];

/** A frame from the Worker. */
export type GatewayFrame =
  /** The answer to a report, as over HTTP. */
  | {
      type: "report-answer";
      status: number;
      body: ReportAnswer | Problem;
      /** The session for heartbeats, absent if none may be sent. `key`: the Worker's X25519 public key, base64url. */
      session?: { key: string; nonce: string };
      /**
       * The Worker's X25519 public key for the frames about questions, if there is no `session`. A machine under pressure
       * has no session, and operators need its answers most.
       */
      asking?: string;
      /** The types of further frames that the gateway takes. A machine sends no others: an unknown frame closes the socket. */
      takes?: readonly string[];
      /** Milliseconds within which the machine connects again, at a random time, if this socket is lost. */
      comeBackWithinMs: number;
    }
  /** The answer to a heartbeat. The next heartbeat is due in `nextInMs` milliseconds, and needs this nonce. */
  | { type: "answer"; n: number; nonce: string; nextInMs: number }
  | { type: "again"; reason: AgainReason }
  /** Only to a machine whose last usage frame has `missing`. `most`: the most samples that the gateway has room for. */
  | { type: "missing-usage"; most: number }
  /** Only to a machine that has sent the frame `questions`. */
  | AskingFrame
  /** An operator has changed something, so the machine has to report now. */
  | { type: "report-now" }
  /** The gateway closes the socket. The machine reports over HTTP, and reconnects after `comeBackInMs` or later. */
  | { type: "closing"; reason: ClosingReason; comeBackInMs: number }
  /** The machine has left, or an operator has removed it. Its key is refused from now on. */
  | { type: "left" };
