// The JWTs (RFC 7519) that sign machines' requests: their types and claims, and the bodies that contain some of them.
// Normative, with docs/protocol.md.
import * as z from "zod/mini";
import { LIMITS } from "./limits.ts";
import { PROTOCOL } from "./report.ts";

/** The `typ` headers. All JWTs use EdDSA (Ed25519). */
export const JWT_TYPES = {
  /** Signed by the machine's key, header `kid`. */
  report: "rollcall-report+jwt",
  /** Opens a socket. Signed by the machine's key, headers `kid` and `jwk`. */
  connect: "rollcall-connect+jwt",
  /** Removes the machine. Signed like a report, with a report's claims. */
  leave: "rollcall-leave+jwt",
  /** Announces the next key. Signed like a report, with a report's claims. */
  rotate: "rollcall-rotate+jwt",
  /** Asks whether to upgrade the shim. Signed like a report, with a report's claims. */
  upgrade: "rollcall-upgrade+jwt",
  /** Proves possession of the next key, for the machine whose key it replaces. Signed by the next key, header `jwk`. */
  nextKey: "rollcall-next-key+jwt",
  /** Proves possession of the key to pin. Signed by the machine's key, header `jwk`. */
  enrol: "rollcall-enrol+jwt",
  /** The permission to enrol. Signed by the join token's key, header `kid` with the token's ID. */
  join: "rollcall-join+jwt",
} as const;

export interface ReportClaims {
  /** The Node's name. */
  sub: string;
  /** The Worker's origin in the machine's configuration. */
  aud: string;
  /** base64url(SHA-256(body)) */
  body: string;
  /** From the Worker's last answer; "" before the first one. */
  ticket: string;
  /** Counts up under one ticket. */
  n: number;
  /** In a report over a socket: the socket's X25519 public key, base64url, made by the machine. */
  session?: string;
}

export interface ConnectClaims {
  sub: string;
  aud: string;
  method: "GET";
  /** Without the query. */
  path: string;
  /** The socket's X25519 public key, base64url, made by the machine. */
  session: string;
}

export const connectQuerySchema = z.strictObject({
  /** The connect ticket from the last answer to a report. */
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
  /** From the Worker's answer to the enrolment without a challenge; "" before that answer. */
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
  /** RFC 7638 thumbprint of the replaced key. */
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
  /** The running shim's version. */
  version: z.string().check(z.maxLength(LIMITS.textLength)),
});
