// The frames of a machine's socket: what it and its gateway say to each other. Text, each a JSON object with its `type`; a
// heartbeat has its MAC on a second line. Normative, with docs/protocol.md. Signs and verifies nothing.
import * as z from "zod/mini";
import type { Problem, ReportAnswer } from "./answers.ts";
import { remainingSecondsSchema } from "./drop-ins.ts";
import { LIMITS } from "./limits.ts";
import { SIGNALS } from "./report.ts";
import { count } from "./schema.ts";

/** A report, as it would go over HTTP: `token` is the JWT that signs `body`. */
export const reportFrameSchema = z.strictObject({
  type: z.literal("report"),
  token: z.string().check(z.maxLength(LIMITS.proofLength)),
  body: z.string(),
});
export type ReportFrame = z.infer<typeof reportFrameSchema>;

/**
 * The first line of a heartbeat: what has changed since the last accepted report. All else is as in that report: facts,
 * capacities, errors, OOM kills. The second line is the MAC over it (heartbeatText).
 */
export const heartbeatSchema = z.strictObject({
  type: z.literal("heartbeat"),
  /** 1, 2, 3 … under one session. */
  n: z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER)),
  /** The machine's clock, in milliseconds since 1970: only its skew is of interest. */
  at: count,
  /** In the order of SIGNALS; null: not observed. */
  available: z.array(z.nullable(count)).check(z.length(SIGNALS.length)),
  /** As in the vitals. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type HeartbeatFrame = z.infer<typeof heartbeatSchema>;

/** Characters of a heartbeat's MAC: base64url of the first 16 bytes of HMAC-SHA-256. */
export const HEARTBEAT_MAC_LENGTH = 22;

/** What the MAC is made over. `nonce`: of the last answer on this socket. `payload`: the frame's first line. */
export function heartbeatText(nonce: string, payload: string): string {
  return `rollcall-heartbeat\n${nonce}\n${payload}`;
}

/** Info of the HKDF (SHA-256, no salt, 32 bytes) that makes the session's HMAC key of the shared X25519 secret. */
export function sessionInfo(name: string, machineKey: string, workerKey: string): string {
  return `rollcall-session\n${name}\n${machineKey}\n${workerKey}`;
}

/** Why a full report has to follow at once. */
export const AGAIN_REASONS = [
  /** The gateway knows no session of this socket: it was restarted, or there was none. */
  "no session",
  /** `n`, nonce or MAC are not those of the next heartbeat. */
  "not fresh",
  /** The vitals may change something. */
  "not quiet",
  /** The order is over: the status is due, or the machine's object has ended it. */
  "over",
  /** Somebody else has written the lease, or it is gone. */
  "lease",
] as const;
export type AgainReason = (typeof AGAIN_REASONS)[number];

export const CLOSING_REASONS = [
  /** A frame that is none, or too large. */
  "bad frame",
  /** Frames come too often. */
  "too often",
  /** No report was accepted in time. */
  "no report",
  /** A later socket of this machine has taken its place. */
  "replaced",
  /** Nothing was heard for three heartbeats. */
  "silent",
  /** Another gateway is this machine's now: the next answer to a report names it. */
  "moved",
  /** This key is not accepted any more. */
  "refused",
] as const;
export type ClosingReason = (typeof CLOSING_REASONS)[number];

/** What the Worker sends. */
export type GatewayFrame =
  /** To a report, as over HTTP. */
  | {
      type: "report-answer";
      status: number;
      body: ReportAnswer | Problem;
      /** Present: heartbeats may follow. `key`: the Worker's X25519 public key, base64url. */
      session?: { key: string; nonce: string };
      /** After the loss of this socket: connect again at a random time within this number of milliseconds. */
      comeBackWithinMs: number;
    }
  /** To a heartbeat: the next one is due after this number of milliseconds, over this nonce. */
  | { type: "answer"; n: number; nonce: string; nextInMs: number }
  | { type: "again"; reason: AgainReason }
  /** An operator has done something: a report is wanted now. */
  | { type: "report-now" }
  /** The socket ends. Connect again after `comeBackInMs` at the earliest; until then report by HTTP. */
  | { type: "closing"; reason: ClosingReason; comeBackInMs: number }
  /** The machine has left, or an operator has forgotten it: its key is refused from now on. */
  | { type: "left" };
