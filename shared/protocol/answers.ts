// What the Worker answers to machines: a body for each success, a reason for each refusal. Sends nothing. Normative,
// with docs/protocol.md.

/** The body of a 200 to a rotation: the next key's kid. The old key stays valid until the next one has reported. */
export interface RotationAnswer {
  kid: string;
}

/** The body of a 200 to an enrolment. */
export interface EnrolmentAnswer {
  /** Names key and enrolment in every request; guarded by a MAC. */
  kid: string;
  /** For the first report, which would be challenged without one. */
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
/** Where a machine's Node stands. */
export type Phase = (typeof PHASES)[number];

/** The body of a 200 to a report. */
export interface ReportAnswer {
  phase: Phase;
  /** What went wrong, for the machine's operator; nothing about the cluster. */
  message?: string;
  /** The Ready condition that the apiserver has. */
  ready: boolean;
  ticket: string;
  /** When to report next, in milliseconds. */
  reportInMs: number;
  /** The first fault of facts that were refused: a path and a text. */
  factsRefused?: { path: string; message: string };
  /** The Worker's, to a shim that is older. */
  workerVersion?: string;
  /** To a machine that would use one: where its socket is, and within how many milliseconds, at random, it connects. */
  socket?: { path: string; withinMs: number };
}

/** The body of a 200 to a machine that leaves: its Node is gone, and its key is refused from now on. */
export interface LeaveAnswer {
  left: true;
}

/** Why a machine is to stay with the version that it has. */
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

/** The HTTP status of each reason for which a request is refused. */
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
  /** JSON Pointer to the first fault of a body. */
  pointer?: string;
  /** With invalid-query: the parameter at fault. */
  parameter?: string;
  /** With ticket-stale and facts-unknown: repeat at once with this one. */
  ticket?: string;
  factsWanted?: boolean;
  /** With challenge-stale: repeat at once, signed over this one. */
  challenge?: string;
  /** With rate-limited and try-another; also in the header Retry-After. */
  retryAfterSeconds?: number;
}
