// Derives the HMAC key of a socket's heartbeats, which both sides compute from their X25519 keys and never send.
import { base64url } from "jose";
import { sessionInfo } from "../../shared/protocol/frames.ts";

const X25519 = { name: "X25519" };
const BITS = 256;

export interface AgreedSession {
  /** The Worker's X25519 public key, in base64url. */
  key: string;
  /** The 32 bytes of the HMAC-SHA-256 key. */
  sessionKey: Uint8Array<ArrayBuffer>;
}

/** Agrees on a key with a machine. Returns null if `machineKey` is no X25519 public key in base64url. */
export async function agreeSession(name: string, machineKey: string): Promise<AgreedSession | null> {
  const { publicKey, privateKey } = (await crypto.subtle.generateKey(X25519, true, [
    "deriveBits",
  ])) as CryptoKeyPair;
  try {
    const bytes = new Uint8Array(base64url.decode(machineKey));
    const theirs = await crypto.subtle.importKey("raw", bytes, X25519, false, []);
    const secret = await crypto.subtle.deriveBits(withKey(theirs), privateKey, BITS);
    const exported = (await crypto.subtle.exportKey("raw", publicKey)) as ArrayBuffer;
    const key = base64url.encode(new Uint8Array(exported));
    const shared = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
    const info = new TextEncoder().encode(sessionInfo(name, machineKey, key));
    const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info };
    return { key, sessionKey: new Uint8Array(await crypto.subtle.deriveBits(hkdf, shared, BITS)) };
  } catch {
    return null;
  }
}

/** Adds the machine's key. workerd's types name the field `$public`, but the runtime accepts only `public`. */
function withKey(theirs: CryptoKey): SubtleCryptoDeriveKeyAlgorithm {
  return { ...X25519, public: theirs } as SubtleCryptoDeriveKeyAlgorithm;
}
