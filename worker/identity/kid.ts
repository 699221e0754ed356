// The `kid` of an enrolled machine: names key and enrolment, and a MAC lets the Worker refuse a foreign one
// before any object is woken. It guards cost, not identity: the pinned key does that.
import { base64url, type CryptoKey } from "jose";

export interface Kid {
  macKeyId: string;
  /** RFC 7638 thumbprint of the machine's key. */
  thumbprint: string;
  enrolment: string;
}

/** A MAC key and its ID. The first of the configured ones signs; all of them verify, for ever. */
export interface MacKey {
  id: string;
  secret: Uint8Array<ArrayBuffer>;
}

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** What was parsed and imported for an earlier request: the same for every one, and a tenth of its time. */
const known = { configured: "", keys: [] as MacKey[], imported: new WeakMap<MacKey, Promise<CryptoKey>>() };

/** Reads `id:base64url id:base64url …`. */
export function parseMacKeys(configured: string): MacKey[] {
  if (known.configured !== configured) Object.assign(known, { configured, keys: readMacKeys(configured) });
  return known.keys;
}

function readMacKeys(configured: string): MacKey[] {
  return configured.split(/\s+/).flatMap((entry) => {
    const [id, secret] = entry.split(":");
    return id && secret ? [{ id, secret: new Uint8Array(base64url.decode(secret)) }] : [];
  });
}

function hmacKey(key: MacKey): Promise<CryptoKey> {
  const imported =
    known.imported.get(key) ?? crypto.subtle.importKey("raw", key.secret, HMAC, false, ["sign", "verify"]);
  known.imported.set(key, imported);
  return imported;
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
  const hmac = await hmacKey(key);
  const mac = await crypto.subtle.sign(HMAC, hmac, macInput(name, kid));
  return `${key.id}.${thumbprint}.${enrolment}.${base64url.encode(new Uint8Array(mac))}`;
}

/** A kid by the first of the configured keys. */
export async function newKid(
  configured: string,
  name: string,
  { thumbprint, id }: { thumbprint: string; id: string },
): Promise<string> {
  const [macKey] = parseMacKeys(configured);
  if (!macKey) throw new Error("KID_MAC_KEYS holds no key");
  return issueKid(macKey, name, thumbprint, id);
}

/** The parts of a kid that one of these keys issued for this name; null for any other text. */
export async function verifyKid(keys: MacKey[], name: string, text: string): Promise<Kid | null> {
  const [macKeyId, thumbprint, enrolment, mac, ...rest] = text.split(".");
  const key = keys.find(({ id }) => id === macKeyId);
  if (!key || !thumbprint || !enrolment || !mac || rest.length > 0) return null;
  const kid: Kid = { macKeyId: key.id, thumbprint, enrolment };
  const bytes = decodeBase64url(mac);
  if (!bytes) return null;
  const hmac = await hmacKey(key);
  return (await crypto.subtle.verify(HMAC, hmac, bytes, macInput(name, kid))) ? kid : null;
}

/** null for text that is not base64url in its one canonical spelling. */
function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = new Uint8Array(base64url.decode(text));
    return base64url.encode(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
