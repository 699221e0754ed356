// What a machine and the Worker say to each other, the facts apart (facts.ts): reports, claims, answers, reasons, and
// their limits. Normative, with docs/protocol.md.
import * as z from "zod/mini";
import { remainingSecondsSchema } from "./drop-ins.ts";
import { count, FACTS_LIMITS } from "./facts.ts";

/** The protocol's version, in every report and enrolment. */
export const PROTOCOL = 1;

/** Every limit of the protocol but those of the facts (facts.ts); a report that exceeds one is refused, never cut. */
export const LIMITS = {
  /** Bytes of a request's body. 50 images with 5 names of 500 bytes each are 125 KiB. */
  bodyBytes: 256 * 1024,
  /** Characters of a Node's name: a DNS-1123 subdomain (apimachinery IsDNS1123Subdomain). */
  nameLength: 253,
  idLength: FACTS_LIMITS.idLength,
  textLength: FACTS_LIMITS.textLength,
  errorsPerSource: 16,
} as const;

const id = z.string().check(z.minLength(1), z.maxLength(LIMITS.idLength));

/** [available, capacity]: what eviction looks at. Of memory, capacity is available + working set. */
const signal = z.tuple([count, count]);
export const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;
/** An error that was cut within a character must not stop the heartbeat. */
const errorText = z.string().check(
  z.maxLength(LIMITS.textLength),
  z.overwrite((value) => value.toWellFormed()),
);
const errors = z.optional(z.array(errorText).check(z.maxLength(LIMITS.errorsPerSource)));

/** What changes all the time. A signal that could not be observed is absent. */
const vitals = z.strictObject({
  signals: z.partialRecord(z.enum(SIGNALS), signal),
  /** What keeps the Node from being Ready, by source. */
  errors: z.optional(z.strictObject({ runtime: errors, network: errors, storage: errors })),
  shuttingDown: z.optional(z.boolean()),
  /** Why the shim ends instead of reporting: an event and a line of history, and nothing else of this report counts. */
  setupError: z.optional(errorText.check(z.minLength(1))),
  /** Of each condition of a drop-in. Absent: none was looked at yet. */
  remainingSeconds: z.optional(remainingSecondsSchema),
});
export type Vitals = z.infer<typeof vitals>;

export const reportSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Random per process of the shim; a new one is a kubelet's restart. */
  startId: id,
  /** RFC 3339. Only measures the machine's clock skew. */
  machineTime: z.iso.datetime({ offset: true }),
  vitals,
  /** base64url(SHA-256(canonicalJson(facts))) */
  factsDigest: z.string().check(z.length(43)),
  /** Validated apart from the rest: refused facts never stop a heartbeat. */
  facts: z.optional(z.unknown()),
});
export type Report = z.infer<typeof reportSchema>;

/** The claims of the JWTs that sign a request; all are EdDSA (Ed25519). RFC 7519. */
export const JWT_TYPES = {
  /** By the machine's key, header `kid`: a report. */
  report: "rollcall-report+jwt",
  /** By the machine's key, header `kid`: leaving; its claims are those of a report. */
  leave: "rollcall-leave+jwt",
  /** By the machine's key, header `kid`: a next key; its claims are those of a report. */
  rotate: "rollcall-rotate+jwt",
  /** By the next key, header `jwk`: possession of it, for the machine whose key it follows. */
  nextKey: "rollcall-next-key+jwt",
  /** By the machine's key, header `jwk`: possession of the key that wants to be pinned. */
  enrol: "rollcall-enrol+jwt",
  /** By the join token's key, header `kid` = the token's ID: leave to enrol. */
  join: "rollcall-join+jwt",
} as const;

export interface ReportClaims {
  /** The Node's name. */
  sub: string;
  /** The Worker's origin, as the machine knows it. */
  aud: string;
  /** base64url(SHA-256(body)) */
  body: string;
  /** From the Worker's last answer; "" when there was none. */
  ticket: string;
  /** Counts up under one ticket. */
  n: number;
}

/** The join JWT has the first five claims; the enrol JWT all of them. */
export interface EnrolmentClaims {
  sub: string;
  aud: string;
  method: "PUT";
  path: string;
  /** RFC 7638 thumbprint of the machine's public key. */
  jkt: string;
  machineID: string;
  systemUUID: string;
}

export const enrolmentSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Signed by the machine's key. */
  proof: z.string().check(z.maxLength(4096)),
  /** Signed by the join token's key. */
  binding: z.string().check(z.maxLength(4096)),
});

/** The claims of the JWT by the next key. */
export interface NextKeyClaims {
  sub: string;
  aud: string;
  method: "POST";
  path: string;
  /** RFC 7638 thumbprint of the next key. */
  jkt: string;
  /** Of the key that it follows. */
  previous: string;
}

/** The body of a rotation. */
export const rotationSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Signed by the next key. */
  proof: z.string().check(z.maxLength(4096)),
});

/** The body of a 200 to a rotation: the next key's kid. The key before it is good until the next one has reported. */
export interface RotationAnswer {
  kid: string;
}

/** What an enrolled machine is told. */
export interface EnrolmentAnswer {
  /** Names key and enrolment in every request; guarded by a MAC. */
  kid: string;
  /** For the first report, which without one is challenged. */
  ticket: string;
}

/** Where a machine's Node stands. */
export type Phase =
  | "registering"
  | "registered"
  | "facts refused"
  | "waiting for Node"
  | "setup failed"
  | "cloned"
  | "two shims"
  | "name taken"
  | "node deleted"
  | "apiserver unreachable"
  | "apiserver refuses"
  | "apiserver not configured";

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
}

/** The body of a 200 to a machine that leaves: its Node is gone, and its key is refused from now on. */
export interface LeaveAnswer {
  left: true;
}

/** The stable `reason` of a problem document (RFC 9457). */
export type Reason =
  | "invalid-json"
  | "invalid-body"
  | "invalid-name"
  | "unauthenticated"
  | "token-refused"
  | "forbidden"
  | "key-revoked"
  | "not-found"
  | "method-not-allowed"
  | "ticket-stale"
  | "name-pinned"
  | "facts-unknown"
  | "body-too-large"
  | "rate-limited"
  | "internal"
  | "not-removed";

/** RFC 9457, served as application/problem+json. */
export interface Problem {
  type: "about:blank";
  status: number;
  title: string;
  detail: string;
  reason: Reason;
  /** JSON Pointer to the first fault of a body. */
  pointer?: string;
  /** With ticket-stale and facts-unknown: repeat at once with this one. */
  ticket?: string;
  factsWanted?: boolean;
  /** With rate-limited; also in the header Retry-After. */
  retryAfterSeconds?: number;
}

/** JSON with sorted keys and no white space (RFC 8785 for the values that facts hold): what a digest is taken over. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}

/** The first fault of a value that a schema refused: a JSON Pointer and a text, of bounded length. */
export function firstFault(error: z.core.$ZodError): { path: string; message: string } {
  const issue = error.issues[0];
  const unknown = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...unknown].map(
    (key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`,
  );
  const message = unknown.length > 0 ? "unknown field" : (issue?.message ?? "invalid");
  return {
    path: path.join("").slice(0, LIMITS.textLength).toWellFormed(),
    message: message.slice(0, LIMITS.textLength).toWellFormed(),
  };
}
