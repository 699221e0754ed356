// The Worker's MAC keys. With them it recognises what it has issued (kids, challenges, sessions, connect tickets) without
// having stored it.
// They prove no identity: the keys of machines and join tokens do, and the registry's row of a session.
import { base64url, type CryptoKey } from "jose";

/** What a MAC is made for. Each purpose has a key of its own, so that no MAC can be used for another purpose. */
type MacPurpose = "kid" | DerivedPurpose;
type DerivedPurpose = "backup" | "challenge" | "connect" | "session";

/** The first of the configured keys signs; all of them verify, for ever. */
export interface MacKey {
  id: string;
  /** Imported with its first use, and once. */
  hmac: (purpose: MacPurpose) => Promise<CryptoKey>;
}

const HMAC = { name: "HMAC", hash: "SHA-256" };
/** The other keys are the MACs of these texts under the secret, which itself signs kids. */
const DERIVED_KEYS: Record<DerivedPurpose, string> = {
  backup: "rollcall-backup-key",
  challenge: "rollcall-challenge-key",
  connect: "rollcall-connect-key",
  session: "rollcall-session-key",
};

/** Reads `id:base64url id:base64url …`. */
export function parseMacKeys(configured: string): MacKey[] {
  return configured.split(/\s+/).flatMap((entry) => {
    const [id, secret] = entry.split(":");
    return id && secret ? [macKey(id, new Uint8Array(base64url.decode(secret)))] : [];
  });
}

/** The key that signs. */
export function signingKey([first]: readonly MacKey[]): MacKey {
  if (!first) throw new Error("KID_MAC_KEYS holds no key");
  return first;
}

function macKey(id: string, secret: Uint8Array<ArrayBuffer>): MacKey {
  const imported: Partial<Record<MacPurpose, Promise<CryptoKey>>> = {};
  const ofKids = () => (imported.kid ??= importHmac(secret));
  const ofOthers = (purpose: DerivedPurpose) => (imported[purpose] ??= derived(ofKids(), purpose));
  return { id, hmac: (purpose) => (purpose === "kid" ? ofKids() : ofOthers(purpose)) };
}

async function derived(key: Promise<CryptoKey>, purpose: DerivedPurpose): Promise<CryptoKey> {
  const mac = await crypto.subtle.sign(HMAC, await key, bytesOf(DERIVED_KEYS[purpose]));
  return importHmac(new Uint8Array(mac));
}

function importHmac(secret: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", secret, HMAC, false, ["sign", "verify"]);
}

/** base64url. */
export async function macOf(key: MacKey, purpose: MacPurpose, text: string): Promise<string> {
  const mac = await crypto.subtle.sign(HMAC, await key.hmac(purpose), bytesOf(text));
  return base64url.encode(new Uint8Array(mac));
}

/** Is it this key's MAC of the text, in its one spelling? */
export async function isMacOf(
  key: MacKey,
  purpose: MacPurpose,
  { text, mac }: { text: string; mac: string },
): Promise<boolean> {
  const bytes = decodeBase64url(mac);
  return bytes !== undefined && crypto.subtle.verify(HMAC, await key.hmac(purpose), bytes, bytesOf(text));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text));
}

/** undefined: this is not base64url in its one canonical spelling. */
function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = new Uint8Array(base64url.decode(text));
    return base64url.encode(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** 128 random bits, base64url: for tickets, enrolments and sessions. */
export function randomNonce(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(16)));
}
