// Mints join tokens and matches their names. A token is an Ed25519 seed that no machine sends; the registry keeps the
// public key.
import { thumbprintOf } from "./jwt.ts";

/** The text that an operator hands to a machine: a version, then the seed. */
export const JOIN_TOKEN_PREFIX = "rcj1_";

/** Its ID is no flag where an operator types it. */
export async function mintJoinToken(): Promise<{ id: string; key: string; token: string }> {
  for (;;) {
    const minted = await mintPair();
    if (!minted.id.startsWith("-")) return minted;
  }
}

async function mintPair(): Promise<{ id: string; key: string; token: string }> {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const { x, d } = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as JsonWebKey;
  if (!x || !d) throw new Error("an Ed25519 key without x or d");
  return { id: await thumbprintOf(x), key: x, token: JOIN_TOKEN_PREFIX + d };
}

/** Does the pattern match this name? `*` is any text without a dot. */
export function nameMatches(pattern: string, name: string): boolean {
  const [patterns, labels] = [pattern.split("."), name.split(".")];
  return patterns.length === labels.length && patterns.every((each, at) => labelMatches(each, labels[at]!));
}

/** Takes the first match of each part, which is fast for any text. A regular expression with many `*` would not be. */
function labelMatches(pattern: string, label: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return pattern === label;
  if (!label.startsWith(first) || !label.endsWith(last)) return false;
  let at = first.length;
  for (const part of others) {
    const found = label.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= label.length;
}
