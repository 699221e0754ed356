// Encrypts texts with a secret, for an object's storage and for backups.
import { base64url } from "jose";

export type Sealer = Awaited<ReturnType<typeof sealer>>;

const IV_BYTES = 12;
const bytesOf = (text: string) => new Uint8Array(new TextEncoder().encode(text));

/** Returns functions that seal and open texts (AES-256-GCM, HKDF-SHA-256). `chain`: the salt, authenticated too. */
export async function sealer(secret: string, chain: string) {
  const material = await crypto.subtle.importKey("raw", bytesOf(secret), "HKDF", false, ["deriveKey"]);
  const info = bytesOf("rollcall-sealed-token");
  const derivation = { name: "HKDF", hash: "SHA-256", salt: bytesOf(chain), info };
  const algorithm = { name: "AES-GCM", length: 256 };
  const key = await crypto.subtle.deriveKey(derivation, material, algorithm, false, ["encrypt", "decrypt"]);
  const withIv = (iv: Uint8Array<ArrayBuffer>) => ({ name: "AES-GCM", iv, additionalData: bytesOf(chain) });
  async function seal(text: string): Promise<string> {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const sealed = new Uint8Array(await crypto.subtle.encrypt(withIv(iv), key, bytesOf(text)));
    return base64url.encode(new Uint8Array([...iv, ...sealed]));
  }
  /** Opens a sealed text; null if the text was sealed with another secret or chain. */
  async function open(sealed: string): Promise<string | null> {
    try {
      const bytes = new Uint8Array(base64url.decode(sealed));
      const [iv, text] = [bytes.slice(0, IV_BYTES), bytes.slice(IV_BYTES)];
      return new TextDecoder().decode(await crypto.subtle.decrypt(withIv(iv), key, text));
    } catch {
      return null;
    }
  }
  return { seal, open };
}
