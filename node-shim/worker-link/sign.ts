// Signs a machine's JWTs, which docs/protocol.md describes.
import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import {
  type ConnectClaims,
  type EnrolmentClaims,
  JWT_TYPES,
  type NextKeyClaims,
  type ReportClaims,
} from "../../shared/protocol/claims.ts";
import { joinTokenKey } from "../identity/join-token.ts";
import type { MachineKey } from "../identity/identity.ts";

export function sha256Base64url(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

export interface EnrolmentToSign {
  name: string;
  origin: string;
  path: string;
  /** The Worker's challenge; "" to request a challenge. */
  challenge: string;
  machineID: string;
  systemUUID: string;
}

/** Signs an enrolment's two JWTs, with the machine's key and the token's key. The token itself is never sent. */
export async function signEnrolment(
  key: MachineKey,
  joinToken: string,
  { name, origin, path, challenge, machineID, systemUUID }: EnrolmentToSign,
): Promise<{ proof: string; binding: string }> {
  const token = await joinTokenKey(joinToken);
  const { thumbprint: jkt } = key;
  const vouched = { sub: name, aud: origin, method: "PUT", path, jkt, challenge } as const;
  const claims: EnrolmentClaims = { ...vouched, machineID, systemUUID };
  return {
    proof: await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.enrol, jwk: key.publicJwk })
      .sign(key.signing),
    binding: await new SignJWT({ ...vouched })
      .setProtectedHeader({
        alg: "EdDSA",
        typ: JWT_TYPES.join,
        kid: token.id,
        ...(token.stamp && { stamp: token.stamp }),
      })
      .sign(token.signing),
  };
}

/** Signs the next key's proof that it replaces the key with the thumbprint `previous` on this machine. */
export function signNextKey(
  next: MachineKey,
  { name, origin, path, previous }: { name: string; origin: string; path: string; previous: string },
): Promise<string> {
  const vouched = { sub: name, aud: origin, method: "POST", path, jkt: next.thumbprint } as const;
  const claims: NextKeyClaims = { ...vouched, previous };
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.nextKey, jwk: next.publicJwk })
    .sign(next.signing);
}

/** Signs a report, a leave, a rotation or a request for an upgrade. All four kinds have the claims of a report. */
export function signReport(
  key: MachineKey,
  kid: string,
  claims: ReportClaims,
  typ: string = JWT_TYPES.report,
): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", typ, kid }).sign(key.signing);
}

/** Signs the request that opens a socket. Includes the public key, so that the Worker verifies without a look-up. */
export function signConnect(key: MachineKey, kid: string, claims: ConnectClaims): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.connect, kid, jwk: key.publicJwk })
    .sign(key.signing);
}
