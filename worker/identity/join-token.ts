// Makes join tokens (Ed25519 seeds that sign and are never sent), checks tokens' stamps, and matches machines' names
// with token patterns.
import { base64url } from "jose";
import { STAMP } from "../../shared/protocol/claims.ts";
import { sha256Base64url, thumbprintOf } from "./jwt.ts";
import { type MacKey, macOf, signingKey } from "./mac-keys.ts";

/** The prefix of a join token, with the version of its form. The token's Ed25519 seed follows the prefix. */
export const JOIN_TOKEN_PREFIX = "rcj1_";
/** The bytes of PKCS #8 (RFC 8410) before an Ed25519 seed, in base64url. */
const PKCS8_PREFIX = "MC4CAQAwBQYDK2VwBCIEIA";
/** The characters of a seed in base64url. The last character has two unused bits. */
const SEED_LENGTH = 43;
/** The byte after the seed whose first two bits, 01, become the unused bits: they mark a token with a stamp. */
const STAMPED = 0x40;

interface MintedPair {
  id: string;
  key: string;
  token: string;
}

/** Returns a token whose ID does not begin with `-`, so that a command line does not parse the ID as a flag. */
export async function mintJoinToken(macKeys: readonly MacKey[]): Promise<MintedPair> {
  for (;;) {
    const minted = await mintPair(signingKey(macKeys));
    if (!minted.id.startsWith("-")) return minted;
  }
}

async function mintPair(macKey: MacKey): Promise<MintedPair> {
  const random = crypto.getRandomValues(new Uint8Array(STAMP.randomBytes));
  const digest = (await sha256Base64url(random)).slice(0, STAMP.digestLength);
  const seed = [...random, ...(await stampMac(macKey, digest))];
  const der = new Uint8Array([...base64url.decode(PKCS8_PREFIX), ...seed]);
  const key = await crypto.subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]);
  const { x = "" } = (await crypto.subtle.exportKey("jwk", key)) as JsonWebKey;
  const text = base64url.encode(new Uint8Array([...seed, STAMPED])).slice(0, SEED_LENGTH);
  return { id: await thumbprintOf(x), key: x, token: JOIN_TOKEN_PREFIX + text };
}

/** Returns the MAC in a token's stamp. `digest`: the digest in the stamp. */
const stampMac = async (macKey: MacKey, digest: string) =>
  base64url.decode(await macOf(macKey, "token", digest)).subarray(0, STAMP.macBytes);

/** Reports whether one of these keys made the stamp. Compares MACs in constant time. */
export async function isStamp(macKeys: readonly MacKey[], stamp: string): Promise<boolean> {
  if (!/^[\w-]{32}$/.test(stamp)) return false;
  const mac = base64url.decode(stamp.slice(STAMP.digestLength));
  const macs = await Promise.all(macKeys.map((key) => stampMac(key, stamp.slice(0, STAMP.digestLength))));
  return macs.some((own) => crypto.subtle.timingSafeEqual(own, mac));
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
