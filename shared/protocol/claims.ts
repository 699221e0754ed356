// The JWTs (RFC 7519) that sign machines' requests: their types and claims, and the bodies that carry some of them.
// Signs and verifies nothing. Normative, with docs/protocol.md.
import * as z from "zod/mini";
import { LIMITS } from "./limits.ts";
import { PROTOCOL } from "./report.ts";

/** The `typ` of each; all are EdDSA (Ed25519). */
export const JWT_TYPES = {
  /** By the machine's key, header `kid`: a report. */
  report: "rollcall-report+jwt",
  /** By the machine's key, headers `kid` and `jwk`: a socket. */
  connect: "rollcall-connect+jwt",
  /** By the machine's key, header `kid`: leaving; its claims are those of a report. */
  leave: "rollcall-leave+jwt",
  /** By the machine's key, header `kid`: a next key; its claims are those of a report. */
  rotate: "rollcall-rotate+jwt",
  /** By the machine's key, header `kid`: may the shim be upgraded; its claims are those of a report. */
  upgrade: "rollcall-upgrade+jwt",
  /** By the next key, header `jwk`: proves possession of it, for the machine whose key it replaces. */
  nextKey: "rollcall-next-key+jwt",
  /** By the machine's key, header `jwk`: proves possession of the key that is to be pinned. */
  enrol: "rollcall-enrol+jwt",
  /** By the join token's key, header `kid` = the token's ID: the permission to enrol. */
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
  /** Of a report over a socket: the X25519 public key that the machine has made for this socket, base64url. */
  session?: string;
}

export interface ConnectClaims {
  sub: string;
  aud: string;
  method: "GET";
  /** Without the query. */
  path: string;
  /** The X25519 public key that the machine has made for this socket, base64url. */
  session: string;
}

export const connectQuerySchema = z.strictObject({
  /** The connect ticket, of the last answer to a report. */
  t: z.string(),
});

/** The join JWT has the first six claims; the enrol JWT all of them. */
export interface EnrolmentClaims {
  sub: string;
  aud: string;
  method: "PUT";
  path: string;
  /** RFC 7638 thumbprint of the machine's public key. */
  jkt: string;
  /** From the Worker's answer to the same without one; "" when there was none. */
  challenge: string;
  machineID: string;
  systemUUID: string;
}

const proof = z.string().check(z.maxLength(LIMITS.proofLength));

export const enrolmentSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Signed by the machine's key. */
  proof: proof,
  /** Signed by the join token's key. */
  binding: proof,
});

export interface NextKeyClaims {
  sub: string;
  aud: string;
  method: "POST";
  path: string;
  /** RFC 7638 thumbprint of the next key. */
  jkt: string;
  /** RFC 7638 thumbprint of the key that it replaces. */
  previous: string;
}

export const rotationSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Signed by the next key. */
  proof: proof,
});

/** The body of a request for an upgrade. */
export const upgradeSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  /** Of the shim that runs. */
  version: z.string().check(z.maxLength(LIMITS.textLength)),
});
