// What an operator got in by, in a form that can be kept: whether it is good yet can be asked later. Holds no secret.
import { base64url } from "jose";
import type { Environment } from "../env.ts";
import { digestOf } from "./jwt.ts";
import { hashesOf } from "./operator.ts";

export type Credential =
  /** A secret, by its SHA-256 in base64url. */
  | { sha256: string }
  /** An assertion of Cloudflare Access. */
  | { untilMs: number };

/** Of a request that has been let in. */
export async function credentialOf(secret: string | null, assertion: string): Promise<Credential> {
  if (secret !== null) return { sha256: await digestOf(secret) };
  const payload = base64url.decode(assertion.split(".")[1] ?? "");
  const { exp = 0 } = JSON.parse(new TextDecoder().decode(payload)) as { exp?: number };
  return { untilMs: 1000 * exp };
}

/** Would it let its operator look now? */
export async function isGood(
  credential: Credential,
  env: Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD" | "ADMIN_SECRET_SHA256" | "VIEW_SECRET_SHA256">,
  nowMs: number,
  operatorWith: (sha256: string) => Promise<{ role: string } | null>, // typically the registry's
): Promise<boolean> {
  if ("untilMs" in credential)
    return Boolean(env.ACCESS_TEAM && env.ACCESS_AUD) && nowMs < credential.untilMs;
  const { sha256 } = credential;
  const hashes = [env.ADMIN_SECRET_SHA256, env.VIEW_SECRET_SHA256].flatMap(hashesOf);
  if (hashes.some((hash) => base64url.encode(hash) === sha256)) return true;
  return ((await operatorWith(sha256))?.role ?? "metrics") !== "metrics";
}
