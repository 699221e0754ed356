// The problem documents (RFC 9457) of the description: which status a reason has, and which reasons a route may answer.
// The statuses are the Worker's (worker/problems.ts), as a test compares.
import * as z from "zod/mini";
import type { Problem, Reason } from "../../shared/protocol/answers.ts";
import type { NamedSchema, Route } from "./route.ts";

export const REASON_STATUSES: Record<Reason, number> = {
  "invalid-json": 400,
  "invalid-body": 400,
  "invalid-query": 400,
  "invalid-name": 400,
  "shim-too-old": 400,
  unauthenticated: 401,
  "wrong-origin": 401,
  "token-refused": 401,
  forbidden: 403,
  "key-revoked": 403,
  "not-found": 404,
  "one-sender": 404,
  "method-not-allowed": 405,
  "ticket-stale": 409,
  "challenge-stale": 409,
  conflict: 409,
  "name-pinned": 409,
  "facts-unknown": 412,
  "body-too-large": 413,
  "upgrade-required": 426,
  "rate-limited": 429,
  internal: 500,
  "not-removed": 503,
  "try-another": 503,
  "not-configured": 503,
  "newer-state": 503,
};

const schema: z.ZodMiniType<Problem> = z.strictObject({
  type: z.literal("about:blank"),
  status: z.int(),
  title: z.string(),
  detail: z.string(),
  reason: z.enum(Object.keys(REASON_STATUSES) as Reason[]),
  pointer: z.exactOptional(z.string()),
  parameter: z.exactOptional(z.string()),
  ticket: z.exactOptional(z.string()),
  factsWanted: z.exactOptional(z.boolean()),
  challenge: z.exactOptional(z.string()),
  retryAfterSeconds: z.exactOptional(z.number()),
});
/** What every answer from 400 on is. */
export const PROBLEM: NamedSchema = { name: "Problem", schema };

/** All reasons for which a route refuses a request. */
export function refusalsOf({ who, path, body, refusals = [] }: Route): Reason[] {
  const reasons: Reason[] = [...refusals];
  if (who === "anybody") return reasons;
  reasons.push("rate-limited", "not-configured", "newer-state", "internal");
  if (path.includes("{name}")) reasons.push("invalid-name");
  if (body !== undefined) reasons.push("invalid-body", "body-too-large");
  reasons.push(...(who === "machine" ? MACHINE_REFUSALS : OPERATOR_REFUSALS));
  return [...new Set(reasons)];
}

const MACHINE_REFUSALS: readonly Reason[] = ["unauthenticated", "wrong-origin"];
const OPERATOR_REFUSALS: readonly Reason[] = ["forbidden", "invalid-query"];
