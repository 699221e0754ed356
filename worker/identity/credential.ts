// What an operator got in by, in a form that can be kept: whether it is good yet can be asked later. Holds no secret.
import { base64url, decodeJwt } from "jose";
import type { Environment } from "../env.ts";
import { hashesOf } from "./operator.ts";

export type Credential =
  /** A secret, by its SHA-256 in base64url. */
  | { sha256: string }
  /** An assertion of Cloudflare Access. */
  | { untilMs: number };

/** Of a request that has been let in. */
export async function credentialOf(secret: string | null, assertion: string): Promise<Credential> {
  if (secret === null) return { untilMs: 1000 * (decodeJwt(assertion).exp ?? 0) };
  return { sha256: await sha256(secret) };
}

/** In base64url. */
export async function sha256(text: string): Promise<string> {
  return base64url.encode(
    new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
  );
}

export function isGood(
  credential: Credential,
  env: Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD" | "ADMIN_SECRET_SHA256" | "VIEW_SECRET_SHA256">,
  nowMs: number,
): boolean {
  if ("untilMs" in credential)
    return Boolean(env.ACCESS_TEAM && env.ACCESS_AUD) && nowMs < credential.untilMs;
  const hashes = [env.ADMIN_SECRET_SHA256, env.VIEW_SECRET_SHA256].flatMap(hashesOf);
  return hashes.some((hash) => base64url.encode(hash) === credential.sha256);
}
