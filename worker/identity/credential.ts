// What an operator got in by, in a form that can be kept: whether it is good yet can be asked later. Holds no secret.
import { base64url } from "jose";
import type { Environment } from "../env.ts";
import { digestOf } from "./jwt.ts";
import { hashesOf } from "./operator.ts";

export type Credential =
  /** A secret, by its SHA-256 in base64url. */
  | { sha256: string }
  /** A session, by its ID. */
  | { session: string }
  /** An assertion of Cloudflare Access. */
  | { untilMs: number };

type SecretHashes = Pick<Environment, "ADMIN_SECRET_SHA256" | "VIEW_SECRET_SHA256">;

/** Whom is asked about credentials: typically the registry. */
interface CredentialKeepers {
  operatorWith: (sha256: string) => Promise<{ role: string } | null>;
  sessionWith: (id: string) => Promise<object | null>;
}

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
  env: Pick<Environment, "ACCESS_TEAM" | "ACCESS_AUD"> & SecretHashes,
  nowMs: number,
  { operatorWith, sessionWith }: CredentialKeepers,
): Promise<boolean> {
  if ("untilMs" in credential)
    return Boolean(env.ACCESS_TEAM && env.ACCESS_AUD) && nowMs < credential.untilMs;
  if ("session" in credential) return (await sessionWith(credential.session)) !== null;
  const { sha256 } = credential;
  if (configuredRole(sha256, env) !== null) return true;
  return ((await operatorWith(sha256))?.role ?? "metrics") !== "metrics";
}

/** The role of the configured secret with this SHA-256, in base64url; null: it is none of them. */
export function configuredRole(sha256: string, env: SecretHashes): "admin" | "view" | null {
  const isAmong = (configured: string | undefined) =>
    hashesOf(configured).some((hash) => base64url.encode(hash) === sha256);
  if (isAmong(env.ADMIN_SECRET_SHA256)) return "admin";
  return isAmong(env.VIEW_SECRET_SHA256) ? "view" : null;
}
