// The frames between a machine and its gateway: JSON objects with a `type`. A heartbeat has its MAC on a second line.
// Normative, with docs/protocol.md.
import * as z from "zod/mini";
import type { Problem, ReportAnswer } from "./answers.ts";
import { remainingSecondsSchema } from "./drop-ins.ts";
import { LIMITS } from "./limits.ts";
import { SIGNALS } from "./report.ts";
import { count } from "./schema.ts";

/** A report as over HTTP: the JWT `token` signs `body`. */
export const reportFrameSchema = z.strictObject({
  type: z.literal("report"),
  token: z.string().check(z.maxLength(LIMITS.proofLength)),
  body: z.string(),
});
export type ReportFrame = z.infer<typeof reportFrameSchema>;

/**
 * The first line of a heartbeat. It lacks what has not changed since the last accepted report: facts, capacities, errors, OOM
 * kills. The second line is the MAC of heartbeatText.
 */
export const heartbeatSchema = z.strictObject({
  type: z.literal("heartbeat"),
  /** 1, 2, 3 … under one session. */
  n: z.int().check(z.minimum(1), z.maximum(Number.MAX_SAFE_INTEGER)),
  /** The machine's clock in milliseconds since 1970, which shows its skew. */
  at: count,
  /** In the order of SIGNALS; null if not observed. */
  available: z.array(z.nullable(count)).check(z.length(SIGNALS.length)),
  /** As in the vitals. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type HeartbeatFrame = z.infer<typeof heartbeatSchema>;

/** Characters of a heartbeat's MAC: base64url of the first 16 bytes of HMAC-SHA-256. */
export const HEARTBEAT_MAC_LENGTH = 22;

/** Returns the text of the MAC. `nonce`: from the last answer on this socket. `payload`: the frame's first line. */
export function heartbeatText(nonce: string, payload: string): string {
  return `rollcall-heartbeat\n${nonce}\n${payload}`;
}

/** Returns the info of the HKDF (SHA-256, no salt, 32 bytes) from the shared X25519 secret to the session's HMAC key. */
export function sessionInfo(name: string, machineKey: string, workerKey: string): string {
  return `rollcall-session\n${name}\n${machineKey}\n${workerKey}`;
}

/** Why the machine must report at once. */
export const AGAIN_REASONS = [
  /** The gateway has no session for this socket. It may have restarted. */
  "no session",
  /** `n`, nonce or MAC do not match the next heartbeat. */
  "not fresh",
  /** The vitals may change something. */
  "not quiet",
  /** The loan has ended: the status is due, or the machine's object has withdrawn it. */
  "over",
  /** Another writer has changed or deleted the lease. */
  "lease",
] as const;
export type AgainReason = (typeof AGAIN_REASONS)[number];

export const CLOSING_REASONS = [
  /** An invalid frame, or one that is too large. */
  "bad frame",
  /** Frames come too often. */
  "too often",
  /** No report was accepted in time. */
  "no report",
  /** A later socket of this machine has replaced this one. */
  "replaced",
  /** Three heartbeats are missing. */
  "silent",
  /** The machine has another gateway now. The next answer to a report names it. */
  "moved",
  /** The key is no longer accepted. */
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
      /** Present if heartbeats may follow. `key`: the Worker's X25519 public key, base64url. */
      session?: { key: string; nonce: string };
      /** If this socket is lost, the machine connects again at a random time within this number of milliseconds. */
      comeBackWithinMs: number;
    }
  /** The answer to a heartbeat. The next one is due in `nextInMs`, with this nonce. */
  | { type: "answer"; n: number; nonce: string; nextInMs: number }
  | { type: "again"; reason: AgainReason }
  /** An operator has changed something, so the machine reports now. */
  | { type: "report-now" }
  /** The socket closes. The machine reports over HTTP, and connects again after `comeBackInMs` at the earliest. */
  | { type: "closing"; reason: ClosingReason; comeBackInMs: number }
  /** The machine has left, or an operator has removed it. Its key is refused from now on. */
  | { type: "left" };
