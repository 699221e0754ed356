// Plays crypto.subtle with Node's synchronous functions. Node's own crypto.subtle works in other threads, whose answers
// come at times that no virtual clock controls.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  KeyObject,
  sign,
  timingSafeEqual,
  verify,
  type webcrypto,
} from "node:crypto";

type Key = webcrypto.CryptoKey;
type Bytes = ArrayBuffer | ArrayBufferView;

const objects = new WeakMap<Key, KeyObject>();
function objectOf(key: Key): KeyObject {
  const known = objects.get(key) ?? KeyObject.from(key);
  objects.set(key, known);
  return known;
}

const bytesOf = (bytes: Bytes): Uint8Array =>
  ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;
const nameOf = (algorithm: string | { name: string }) =>
  typeof algorithm === "string" ? algorithm : algorithm.name;

function macOf(key: Key, data: Bytes): Buffer {
  return createHmac("sha256", objectOf(key)).update(bytesOf(data)).digest();
}

interface Derivation {
  name: string;
  public?: Key;
  salt?: Bytes;
  info?: Bytes;
}

function derived({ name, public: theirs, salt, info }: Derivation, key: Key, bits: number): ArrayBuffer {
  if (name === "X25519" && theirs)
    return bufferOf(diffieHellman({ privateKey: objectOf(key), publicKey: objectOf(theirs) }));
  return hkdfSync("sha256", objectOf(key), bytesOf(salt!), bytesOf(info!), bits / 8);
}

const TAG_BYTES = 16;

/** Returns a replacement of crypto.subtle. The methods return promises that are already settled. */
export function instantSubtle(subtle: webcrypto.SubtleCrypto): object {
  return {
    // Node.js imports and exports keys synchronously.
    importKey: subtle.importKey.bind(subtle),
    exportKey: subtle.exportKey.bind(subtle),
    digest: async (_: unknown, data: Bytes) => bufferOf(createHash("sha256").update(bytesOf(data)).digest()),
    sign: async (algorithm: string | { name: string }, key: Key, data: Bytes) =>
      bufferOf(nameOf(algorithm) === "HMAC" ? macOf(key, data) : sign(null, bytesOf(data), objectOf(key))),
    verify: async (algorithm: string | { name: string }, key: Key, signature: Bytes, data: Bytes) =>
      nameOf(algorithm) === "HMAC"
        ? macOf(key, data).equals(bytesOf(signature))
        : verify(null, bytesOf(data), objectOf(key), bytesOf(signature)),
    async generateKey(algorithm: string | { name: string }, extractable: boolean, usages: string[]) {
      const name = nameOf(algorithm);
      const pair = name === "X25519" ? generateKeyPairSync("x25519") : generateKeyPairSync("ed25519");
      const toKey = (key: KeyObject, uses: string[]) =>
        key.toCryptoKey({ name }, extractable, uses as webcrypto.KeyUsage[]);
      const publicUses = usages.filter((use) => use === "verify");
      return {
        publicKey: toKey(pair.publicKey, publicUses),
        privateKey: toKey(
          pair.privateKey,
          usages.filter((use) => use !== "verify"),
        ),
      };
    },
    deriveBits: async (derivation: Derivation, key: Key, bits: number) => derived(derivation, key, bits),
    deriveKey: async (derivation: Derivation, key: Key, of: { name: string }, _: boolean, uses: string[]) =>
      subtle.importKey("raw", derived(derivation, key, 256), of, true, uses as webcrypto.KeyUsage[]),
    async encrypt({ iv }: { iv: Bytes }, key: Key, data: Bytes) {
      const cipher = createCipheriv("aes-256-gcm", objectOf(key), bytesOf(iv));
      return bufferOf(Buffer.concat([cipher.update(bytesOf(data)), cipher.final(), cipher.getAuthTag()]));
    },
    async decrypt({ iv }: { iv: Bytes }, key: Key, data: Bytes) {
      const bytes = bytesOf(data);
      const decipher = createDecipheriv("aes-256-gcm", objectOf(key), bytesOf(iv));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return bufferOf(Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]));
    },
    timingSafeEqual: (a: Bytes, b: Bytes) =>
      a.byteLength === b.byteLength && timingSafeEqual(bytesOf(a), bytesOf(b)),
  };
}
