// Makes join tokens of other forms: invented ones, and the form of tokens that an earlier version has minted.
import { randomBytes } from "node:crypto";

const PREFIX = "rcj1_";
const textOf = (bytes: Uint8Array, length: number) =>
  `${PREFIX}${Buffer.from(bytes).toString("base64url").slice(0, length)}`;

/** Returns a token that no Worker has minted, in the form of a token with a stamp. */
export const inventedToken = (random = randomBytes(32)): string =>
  textOf(Buffer.concat([random, Buffer.from([0x40])]), 43);

/** Returns the token without the mark of a stamp: a shim then sends no stamp, as with a token of an earlier version. */
export const withoutStamp = (token: string): string =>
  textOf(Buffer.from(token.slice(PREFIX.length), "base64url"), 43);
