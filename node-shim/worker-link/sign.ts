// The JWTs that a machine signs (docs/protocol.md). Uses neither files nor network.
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
  /** The Worker's; "" asks for one. */
  challenge: string;
  machineID: string;
  systemUUID: string;
}

/** The two JWTs of an enrolment: by the machine's key and by the token's, which itself never travels. */
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
      .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.join, kid: token.id })
      .sign(token.signing),
  };
}

/** The next key's proof that it replaces `previous` (a thumbprint) on this machine. */
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

/** A report, a leave, or a rotation: their claims are the same. */
export function signReport(
  key: MachineKey,
  kid: string,
  claims: ReportClaims,
  typ: string = JWT_TYPES.report,
): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: "EdDSA", typ, kid }).sign(key.signing);
}

/** The upgrade to a socket. It has the public key beside the kid, so that the Worker can verify it without asking anybody. */
export function signConnect(key: MachineKey, kid: string, claims: ConnectClaims): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "EdDSA", typ: JWT_TYPES.connect, kid, jwk: key.publicJwk })
    .sign(key.signing);
}
