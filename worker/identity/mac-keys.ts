// Reads the Worker's MAC keys from KID_MAC_KEYS, and makes and checks MACs with them.
import { base64url, type CryptoKey } from "jose";

/** The purposes of MACs. Each purpose has its own key, so that a MAC is valid for one purpose only. */
export type MacPurpose = "kid" | DerivedPurpose;
type DerivedPurpose = "backup" | "challenge" | "connect" | "session" | "token";

/** A configured key. The first key makes all new MACs; every key verifies MACs. */
export interface MacKey {
  id: string;
  /** Returns the key for this purpose. The key is imported at its first use. */
  hmac: (purpose: MacPurpose) => Promise<CryptoKey>;
}

const HMAC = { name: "HMAC", hash: "SHA-256" };
/** The texts that derive keys: a purpose's key is the secret's MAC of its text. The key of kids is the secret. */
const DERIVED_KEYS: Record<DerivedPurpose, string> = {
  backup: "rollcall-backup-key",
  challenge: "rollcall-challenge-key",
  connect: "rollcall-connect-key",
  session: "rollcall-session-key",
  token: "rollcall-token-key",
};

/** Parses the value of KID_MAC_KEYS, `id:base64url id:base64url …`. */
export function parseMacKeys(configured: string): MacKey[] {
  return configured.split(/\s+/).flatMap((entry) => {
    const [id, secret] = entry.split(":");
    return id && secret ? [macKey(id, new Uint8Array(base64url.decode(secret)))] : [];
  });
}

/** Returns the key that makes new MACs. */
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

/** Returns the MAC of the text in base64url. */
export async function macOf(key: MacKey, purpose: MacPurpose, text: string): Promise<string> {
  const mac = await crypto.subtle.sign(HMAC, await key.hmac(purpose), bytesOf(text));
  return base64url.encode(new Uint8Array(mac));
}

/** Reports whether `mac` is this key's MAC of the text, in canonical base64url. */
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

/** Decodes base64url; undefined if the text is not canonical base64url. */
function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = new Uint8Array(base64url.decode(text));
    return base64url.encode(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Returns 128 random bits in base64url. */
export function randomNonce(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(16)));
}
