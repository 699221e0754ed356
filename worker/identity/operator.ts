// The operator's admin secret: the Worker knows its SHA-256 only, and compares in constant time.
import { base64url } from "jose";

/** The secret must be random and long (32 bytes): a plain hash protects nothing that people make up. */
export async function isOperator(secret: string | null, expectedSha256: string): Promise<boolean> {
  if (secret === null || expectedSha256 === "") return false;
  const expected = base64url.decode(expectedSha256);
  const actual = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return expected.byteLength === actual.byteLength && crypto.subtle.timingSafeEqual(expected, actual);
}
