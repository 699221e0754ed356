// Reads a join token and makes its key. No flag takes a token, since every user can read a process's command line.
import { createHash } from "node:crypto";
import { calculateJwkThumbprint, type CryptoKey, exportJWK, importPKCS8, type JWK } from "jose";
import { STAMP } from "../../shared/protocol/claims.ts";
import type { Result } from "../../shared/result.ts";
import { codeOf } from "../base/fault.ts";
import type { LogMessage } from "../base/log.ts";
import { othersReadBits, withTrustedFile } from "../base/ownership.ts";
import { firstBytes } from "../base/reading.ts";

/** The most bytes that the shim reads of a token's file. A token has 48 characters; a larger file is a wrong file. */
const MAX_BYTES = 4096;

/**
 * Reads a join token from `file` ("-" is standard input), else from ROLLCALL_JOIN_TOKEN. Calls `warn` for a file that
 * other users can read. Throws with the remedy if there is no token.
 */
export async function readJoinToken(
  file: string | undefined,
  warn: (message: LogMessage) => void,
  environment: NodeJS.ProcessEnv = process.env,
  stdin: AsyncIterable<Buffer | string> = process.stdin,
): Promise<string> {
  const token = file ? await textOf(file, warn, stdin) : environment["ROLLCALL_JOIN_TOKEN"]?.trim();
  if (token) return token;
  if (file) throw new Error(`--join-token-file ${file} is empty: put the join token there`);
  throw new Error(
    "this machine is not enrolled yet: get a join token from your operator and pass --join-token-file or set ROLLCALL_JOIN_TOKEN",
  );
}

async function textOf(
  file: string,
  warn: (message: LogMessage) => void,
  stdin: AsyncIterable<Buffer | string>,
): Promise<string> {
  let read: Result<string>;
  try {
    if (file === "-") return (await beginningOf(stdin)).trim();
    read = withTrustedFile(file, (descriptor, stats) => {
      const text = firstBytes(descriptor, MAX_BYTES).toString();
      const isShared = (stats.mode & othersReadBits(stats)) !== 0;
      if (isShared && joinTokenFault(text) === null)
        warn(
          `--join-token-file ${file} can be read by other users (mode ${(stats.mode & 0o777).toString(8)}): chmod 600 ${file}, and ask your operator for another token`,
        );
      return text;
    });
  } catch (error) {
    throw new Error(
      `--join-token-file ${file} cannot be read (${codeOf(error)}): put the token there, or set ROLLCALL_JOIN_TOKEN`,
      { cause: error },
    );
  }
  if (!read.ok)
    throw new Error(
      `--join-token-file ${file} is not trusted: ${read.error}, or pass the token to --join-token-file - (standard input)`,
    );
  return read.value.trim();
}

async function beginningOf(stream: AsyncIterable<Buffer | string>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += chunk.toString();
    if (text.length > MAX_BYTES) break;
  }
  return text;
}

const JOIN_TOKEN = /^rcj1_([\w-]{43})$/;
/** The bytes of PKCS #8 (RFC 8410) before an Ed25519 seed of 32 bytes. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Returns the fault of a join token; null if the text has a join token's form. */
export function joinTokenFault(token: string): string | null {
  if (JOIN_TOKEN.test(token.trim())) return null;
  return "this is not a join token: it must read rcj1_ and 43 more characters";
}

export interface JoinTokenKey {
  signing: CryptoKey;
  id: string;
  /** The token's stamp, by which the Worker recognizes the token; undefined for a token of an earlier Worker. */
  stamp: string | undefined;
}

/** Makes the key whose seed is the join token. Throws with the remedy if the text is no join token. */
export async function joinTokenKey(token: string): Promise<JoinTokenKey> {
  const text = JOIN_TOKEN.exec(token.trim())?.[1];
  if (!text) throw new Error(joinTokenFault(token) ?? "");
  const seed = Buffer.from(text, "base64url");
  const der = Buffer.concat([PKCS8_PREFIX, seed]).toString("base64");
  const pem = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----`;
  const signing = await importPKCS8(pem, "EdDSA", { extractable: true });
  const { kty, crv, x } = await exportJWK(signing);
  // The unused bits of the last character are 0 in a token without a stamp.
  const isStamped = seed.toString("base64url") !== text;
  const id = await calculateJwkThumbprint({ kty, crv, x } as JWK);
  return { signing, id, stamp: isStamped ? stampOf(seed) : undefined };
}

/** Returns the stamp of a join token: the digest of the seed's random bytes, and the Worker's MAC of the digest. */
function stampOf(seed: Buffer): string {
  const { randomBytes, digestLength } = STAMP;
  const digest = createHash("sha256").update(seed.subarray(0, randomBytes)).digest("base64url");
  return digest.slice(0, digestLength) + seed.toString("base64url", randomBytes);
}
