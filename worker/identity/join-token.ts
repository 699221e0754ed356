// Makes join tokens (Ed25519 seeds that sign and are never sent), and matches machines' names with token patterns.
import { thumbprintOf } from "./jwt.ts";

/** The prefix of a join token, with the version of its form. The token's Ed25519 seed follows the prefix. */
export const JOIN_TOKEN_PREFIX = "rcj1_";

/** Returns a token whose ID does not begin with `-`, so that a command line does not parse the ID as a flag. */
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

/** Reports whether the pattern matches the name. `*` matches any text without a dot. */
export function nameMatches(pattern: string, name: string): boolean {
  const [patterns, labels] = [pattern.split("."), name.split(".")];
  return patterns.length === labels.length && patterns.every((each, at) => labelMatches(each, labels[at]!));
}

/** Reports whether a pattern without dots matches a part of a name. Linear for any text, unlike regular expressions. */
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
