// What a bearer token says of itself: whose it is, how long it lives, from when on it is to be renewed. Verifies nothing:
// the apiserver does.
import { decodeJwt } from "jose";
import { dnsSubdomainErrors } from "../../shared/kubernetes/validation.ts";

export interface ServiceAccount {
  namespace: string;
  name: string;
}

/** What is absent, it does not say. */
export interface TokenClaims {
  account?: ServiceAccount;
  issuedAtMs?: number;
  expiresAtMs?: number;
}

/** Of a token that can be renewed: it is a ServiceAccount's, and it ends. */
export type TokenLife = Required<TokenClaims>;

/** Nothing for a token that is no JWT. */
export function tokenClaims(token: string): TokenClaims {
  const { sub, iat, exp } = payloadOf(token);
  const account = accountOf(sub);
  const [issuedAtMs, expiresAtMs] = [milliseconds(iat), milliseconds(exp)];
  return {
    ...(account && { account }),
    ...(issuedAtMs !== undefined && { issuedAtMs }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

/** null: nobody can renew it, or nobody has to. */
export function tokenLife(token: string): TokenLife | null {
  const { account, issuedAtMs, expiresAtMs } = tokenClaims(token);
  if (!account || issuedAtMs === undefined || expiresAtMs === undefined) return null;
  return expiresAtMs > issuedAtMs ? { account, issuedAtMs, expiresAtMs } : null;
}

/** From half of its life on. */
export function renewFromMs({ issuedAtMs, expiresAtMs }: TokenLife): number {
  return issuedAtMs + (expiresAtMs - issuedAtMs) / 2;
}

export function sameAccount(one: ServiceAccount, other: ServiceAccount): boolean {
  return one.namespace === other.namespace && one.name === other.name;
}

/** Unverified; nothing where it is no JWT. */
export function payloadOf(token: string): Record<string, unknown> {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

/** Its parts are parts of a path later: nothing else than names of Kubernetes is one. */
function accountOf(subject: unknown): ServiceAccount | undefined {
  const [system, kind, namespace, name, ...more] = typeof subject === "string" ? subject.split(":") : [];
  if (system !== "system" || kind !== "serviceaccount" || more.length > 0) return undefined;
  const isNamed = [namespace, name].every(
    (part) => part !== undefined && dnsSubdomainErrors(part).length === 0,
  );
  return isNamed ? { namespace: namespace!, name: name! } : undefined;
}

function milliseconds(seconds: unknown): number | undefined {
  return typeof seconds === "number" && Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
