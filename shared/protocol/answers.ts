// The Worker's answers to machines: a body for each success, a reason for each refusal. Normative, with docs/protocol.md.

/** The body of a 200 to a rotation: the next key's kid. The old key is valid until the first report with the next key. */
export interface RotationAnswer {
  kid: string;
}

/** The body of a 200 to an enrolment. */
export interface EnrolmentAnswer {
  /** Identifies key and enrolment in every request. A MAC protects it. */
  kid: string;
  /** For the first report, which would get a challenge without a ticket. */
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
/** The status of a machine's Node. */
export type Phase = (typeof PHASES)[number];

/** The body of a 200 to a report. */
export interface ReportAnswer {
  phase: Phase;
  /** For the machine's operator: what failed, without details of the cluster. */
  message?: string;
  /** True if the Node's Ready condition in the apiserver is True. */
  ready: boolean;
  ticket: string;
  /** Milliseconds until the next report. */
  reportInMs: number;
  /** The first fault of refused facts: a path and a text. */
  factsRefused?: { path: string; message: string };
  /** The Worker's version, if the shim is older. */
  workerVersion?: string;
  /** The socket's path. The machine connects at a random time within `withinMs` milliseconds. */
  socket?: { path: string; withinMs: number };
}

/** The body of a 200 to a machine that leaves: its Node is deleted, and its key is refused from now on. */
export interface LeaveAnswer {
  left: true;
}

/** Why a machine keeps its version of the shim. */
export const REASONS_TO_STAY = [
  "no rollout",
  "up to date",
  "stopped",
  "not chosen",
  "too many at once",
  "not known",
] as const;
export type ReasonToStay = (typeof REASONS_TO_STAY)[number];

/** The body of a 200 to a machine that asks whether to upgrade its shim. */
export type UpgradeAnswer = { version: string } | { version: null; why: ReasonToStay };

/** The HTTP status of each refusal's reason. */
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
} as const;

/** The stable `reason` of a problem document (RFC 9457). */
export type Reason = keyof typeof REASON_STATUSES;

/** RFC 9457, served as application/problem+json. */
export interface Problem {
  type: "about:blank";
  status: number;
  title: string;
  detail: string;
  reason: Reason;
  /** JSON Pointer to the body's first fault. */
  pointer?: string;
  /** With invalid-query: the invalid parameter. */
  parameter?: string;
  /** With ticket-stale and facts-unknown: the machine repeats its request at once with this ticket. */
  ticket?: string;
  factsWanted?: boolean;
  /** With challenge-stale: the machine signs this challenge and repeats its request at once. */
  challenge?: string;
  /** With rate-limited and try-another; also in the header Retry-After. */
  retryAfterSeconds?: number;
}
