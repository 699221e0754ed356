// Random texts that nobody can guess, for tickets and enrolments.
import { base64url } from "jose";

/** 128 random bits, base64url. */
export function randomNonce(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(16)));
}
