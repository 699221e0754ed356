// Defines the Worker's answers to machines: bodies, and reasons for refusals. Normative, with docs/protocol.md.

import type { HttpQuestion } from "./asking.ts";
import type { Clearing } from "./problems.ts";

/** The body of a 200 answer to a rotation. The old key is valid until the first report with the next key. */
export interface RotationAnswer {
  kid: string;
}

/** The body of a 200 answer to an enrolment. */
export interface EnrolmentAnswer {
  /** The text that identifies key and enrolment in every request. A MAC protects it. */
  kid: string;
  /** The ticket for the first report, which would otherwise be refused once to get one. */
  ticket: string;
}

export const PHASES = [
  "registering",
  "registered",
  "facts refused",
  "waiting for Node",
  "setup failed",
  "cloned",
  "two shims",
  "name taken",
  "node deleted",
  "apiserver unreachable",
  "apiserver refuses",
  "apiserver not configured",
] as const;
/** The result of the last report for the machine's Node. */
export type Phase = (typeof PHASES)[number];

/** The body of a 200 answer to a report. */
export interface ReportAnswer {
  phase: Phase;
  /** A message for the machine's operator about a failure, without details of the cluster. */
  message?: string;
  /** true if the Node's condition Ready is True in the apiserver. */
  ready: boolean;
  ticket: string;
  /** Milliseconds until the next report. */
  reportInMs: number;
  /** The first fault of refused facts: its path in the facts, and a text. */
  factsRefused?: { path: string; message: string };
  /** The Worker's version; present only if the shim is older. */
  workerVersion?: string;
  /** The path of the socket. The machine connects at a random time within `withinMs` milliseconds. */
  socket?: { path: string; withinMs: number };
  /** Questions to the machine, over HTTP: only if the report has named its questions. */
  questions?: HttpQuestion[];
  /** The conditions that operators end: only if the machine's facts have named them as held. */
  clears?: Clearing[];
}

/** The body of a 200 answer to a machine that leaves. Its Node is deleted, and its key is refused from now on. */
export interface LeaveAnswer {
  left: true;
}

/** The reasons why a machine keeps its version of the shim. */
export const REASONS_TO_STAY = [
  "no rollout",
  "up to date",
  "stopped",
  "not chosen",
  "too many at once",
  "not known",
] as const;
export type ReasonToStay = (typeof REASONS_TO_STAY)[number];

/** The body of a 200 answer to a machine that asks whether to upgrade its shim. */
export type UpgradeAnswer = { version: string } | { version: null; why: ReasonToStay };

/** The HTTP status for each reason to refuse a request. */
export const REASON_STATUSES = {
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
  "machine-silent": 409,
  "no-socket": 409,
  "question-off": 409,
  "name-pinned": 409,
  "facts-unknown": 412,
  "body-too-large": 413,
  "upgrade-required": 426,
  "rate-limited": 429,
  internal: 500,
  busy: 503,
  "not-removed": 503,
  "try-another": 503,
  "not-configured": 503,
  "newer-state": 503,
} as const;

/** The `reason` of a problem document (RFC 9457). A reason never changes its meaning. */
export type Reason = keyof typeof REASON_STATUSES;

/** The body of a refusal (RFC 9457), with the type application/problem+json. */
export interface Problem {
  type: "about:blank";
  status: number;
  title: string;
  detail: string;
  reason: Reason;
  /** A JSON Pointer to the first fault in the request's body. */
  pointer?: string;
  /** The name of the invalid parameter, for `invalid-query`. */
  parameter?: string;
  /** A new ticket, for `ticket-stale` and `facts-unknown`. The machine repeats its request at once with the ticket. */
  ticket?: string;
  factsWanted?: boolean;
  /** A new challenge, for `challenge-stale`. The machine signs the challenge and repeats its request at once. */
  challenge?: string;
  /** The seconds to wait, for `busy`, `rate-limited` and `try-another`. The header Retry-After has the same value. */
  retryAfterSeconds?: number;
}
