// The `kid` of an enrolled machine names its key and enrolment. Its MAC lets the Worker refuse a foreign one before any
// object is woken: that limits costs. Identity is proven by the pinned key.
import { base64url, type CryptoKey } from "jose";

export interface Kid {
  macKeyId: string;
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
  enrolment: string;
}

/** The first of the configured keys signs; all of them verify, for ever. */
export interface MacKey {
  id: string;
  /** Imported once, with its first use. */
  hmac: () => Promise<CryptoKey>;
}

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** Reads `id:base64url id:base64url …`. */
export function parseMacKeys(configured: string): MacKey[] {
  return configured.split(/\s+/).flatMap((entry) => {
    const [id, secret] = entry.split(":");
    return id && secret ? [macKey(id, new Uint8Array(base64url.decode(secret)))] : [];
  });
}

function macKey(id: string, secret: Uint8Array<ArrayBuffer>): MacKey {
  let imported: Promise<CryptoKey> | undefined;
  return {
    id,
    hmac: () => (imported ??= crypto.subtle.importKey("raw", secret, HMAC, false, ["sign", "verify"])),
  };
}

function macInput(name: string, kid: Kid): Uint8Array<ArrayBuffer> {
  return new Uint8Array(
    new TextEncoder().encode(`rollcall-kid\n${name}\n${kid.thumbprint}\n${kid.enrolment}`),
  );
}

export async function issueKid(
  key: MacKey,
  name: string,
  thumbprint: string,
  enrolment: string,
): Promise<string> {
  const kid: Kid = { macKeyId: key.id, thumbprint, enrolment };
  const mac = await crypto.subtle.sign(HMAC, await key.hmac(), macInput(name, kid));
  return `${key.id}.${thumbprint}.${enrolment}.${base64url.encode(new Uint8Array(mac))}`;
}

/** A kid by the first of the configured keys. */
export async function newKid(
  [macKey]: readonly MacKey[],
  name: string,
  { thumbprint, id }: { thumbprint: string; id: string },
): Promise<string> {
  if (!macKey) throw new Error("KID_MAC_KEYS holds no key");
  return issueKid(macKey, name, thumbprint, id);
}

/** Did one of these keys issue this kid for this name? */
export async function isIssuedKid(keys: readonly MacKey[], name: string, text: string): Promise<boolean> {
  const [macKeyId, thumbprint, enrolment, mac, ...rest] = text.split(".");
  const key = keys.find(({ id }) => id === macKeyId);
  if (!key || !thumbprint || !enrolment || !mac || rest.length > 0) return false;
  const bytes = decodeBase64url(mac);
  if (!bytes) return false;
  const input = macInput(name, { macKeyId: key.id, thumbprint, enrolment });
  return crypto.subtle.verify(HMAC, await key.hmac(), bytes, input);
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
