// Defines the JWTs (RFC 7519) that sign machines' requests, and their bodies. Normative, with docs/protocol.md.
import * as z from "zod/mini";
import { LIMITS } from "./limits.ts";
import { PROTOCOL } from "./report.ts";

/** The `typ` header of each kind of JWT. All JWTs use EdDSA (Ed25519). */
export const JWT_TYPES = {
  /** Signs a report. Signed by the machine's key, with the header `kid`. */
  report: "rollcall-report+jwt",
  /** Signs a request to open a socket. Signed by the machine's key, with the headers `kid` and `jwk`. */
  connect: "rollcall-connect+jwt",
  /** Signs a request to remove the machine. The header and the claims are a report's. */
  leave: "rollcall-leave+jwt",
  /** Signs a request that announces the next key. The header and the claims are a report's. */
  rotate: "rollcall-rotate+jwt",
  /** Signs the question whether to upgrade the shim. The header and the claims are a report's. */
  upgrade: "rollcall-upgrade+jwt",
  /** Signs parts of an answer over HTTP. The claims are a report's; `ticket` is the question's ID. */
  answer: "rollcall-answer+jwt",
  /** Proves that the machine has the next key, and names the replaced key. Signed by the next key (header `jwk`). */
  nextKey: "rollcall-next-key+jwt",
  /** Proves that the machine has the key to pin. Signed by the machine's key, with the header `jwk`. */
  enrol: "rollcall-enrol+jwt",
  /** Permits the enrolment. Signed by the join token's key, with the headers `kid` (the token's ID) and `stamp`. */
  join: "rollcall-join+jwt",
} as const;

/**
 * A join token's seed has random bytes, and the Worker's MAC of their digest. The token's stamp has this digest and this
 * MAC, so that the Worker recognizes its own tokens without a look-up.
 */
export const STAMP = {
  randomBytes: 23,
  /** The characters of the digest: the first 15 bytes of a SHA-256, in base64url. */
  digestLength: 20,
  macBytes: 9,
} as const;

export interface ReportClaims {
  /** The Node's name. */
  sub: string;
  /** The Worker's origin in the machine's configuration. */
  aud: string;
  /** The digest of the body: base64url(SHA-256(body)). */
  body: string;
  /** The ticket from the Worker's last answer; "" before the first answer. */
  ticket: string;
  /** The number of the request under this ticket, which increases. */
  n: number;
  /** The machine's X25519 public key for the socket, as base64url. Present in a report over a socket. */
  session?: string;
}

export interface ConnectClaims {
  sub: string;
  aud: string;
  method: "GET";
  /** The path of the socket's URL, without the query. */
  path: string;
  /** The machine's X25519 public key for the socket, as base64url. */
  session: string;
}

export const connectQuerySchema = z.strictObject({
  /** The connect ticket from the last answer to a report. */
  t: z.string(),
});

/** The claims of an enrolment. The join JWT has the first six claims, the enrol JWT has all. */
export interface EnrolmentClaims {
  sub: string;
  aud: string;
  method: "PUT";
  path: string;
  /** The RFC 7638 thumbprint of the machine's public key. */
  jkt: string;
  /** The challenge from the Worker's first answer to this enrolment; "" before that answer. */
  challenge: string;
  machineID: string;
  systemUUID: string;
}

const proof = z.string().check(z.maxLength(LIMITS.proofLength));

export const enrolmentSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** The enrol JWT, signed by the machine's key. */
  proof: proof,
  /** The join JWT, signed by the join token's key. */
  binding: proof,
});

export interface NextKeyClaims {
  sub: string;
  aud: string;
  method: "POST";
  path: string;
  /** The RFC 7638 thumbprint of the next key. */
  jkt: string;
  /** The RFC 7638 thumbprint of the replaced key. */
  previous: string;
}

export const rotationSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** The JWT that the next key has signed. */
  proof: proof,
});

/** The body of the question whether to upgrade the shim. */
export const upgradeSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** The version of the running shim. */
  version: z.string().check(z.maxLength(LIMITS.textLength)),
});
