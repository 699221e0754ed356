// Parses, builds and signs JWTs, right or wrong. All functions are synchronous, because a run makes hundreds of
// thousands.
import { createHash, createHmac, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import type { SessionKeys } from "../../../node-shim/worker-link/session.ts";
import { MAC_KEYS } from "./agreed.ts";
import type { Random } from "./random.ts";

export type Json = Record<string, unknown>;

export interface Jwt {
  header: Json;
  claims: Json;
  signature: string;
}

/** An Ed25519 key made from its seed. */
export interface SeededKey {
  key: KeyObject;
  /** The seed as base64url. */
  d: string;
  x: string;
  thumbprint: string;
}

/** The bytes of PKCS #8 (RFC 8410) before the 32 bytes of a seed. */
const PKCS8_PREFIXES = {
  Ed25519: "302e020100300506032b657004220420",
  X25519: "302e020100300506032b656e04220420",
};

function privateKey(curve: keyof typeof PKCS8_PREFIXES, seed: Uint8Array): { key: KeyObject; x: string } {
  const der = Buffer.concat([Buffer.from(PKCS8_PREFIXES[curve], "hex"), seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const { x = "" } = key.export({ format: "jwk" });
  return { key, x };
}

export async function seededKey(random: Random): Promise<SeededKey> {
  const made = keyOfSeed(random.bytes(32));
  return { ...made, thumbprint: await calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x: made.x }) };
}

export function keyOfSeed(seed: Uint8Array): SeededKey {
  const { key, x } = privateKey("Ed25519", seed);
  return { key, d: Buffer.from(seed).toString("base64url"), x, thumbprint: thumbprintOf(x) };
}

/** Returns the session keys of a socket. */
export function seededSessionKeys(random: Random): SessionKeys {
  const { key, x } = privateKey("X25519", random.bytes(32));
  return { publicKey: x, privateKey: key };
}

export function encoded(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

/** Parses a recorded JWT. */
export function takenApart(jwt: string): Jwt {
  const [header = "", claims = "", signature = ""] = jwt.split(".");
  const decoded = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Json;
  return { header: decoded(header), claims: decoded(claims), signature };
}

/** Returns a JWT whose signature was made for another JWT. */
export function withSignature({ header, claims, signature }: Jwt): string {
  return `${encoded(header)}.${encoded(claims)}.${signature}`;
}

/** Signs a JWT. The header and claims may be texts that are no JSON. */
export function signedBy({ key }: SeededKey, header: unknown, claims: unknown): string {
  const signed = `${encoded(header)}.${encoded(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key).toString("base64url")}`;
}

export function hmacOf(secret: string | Uint8Array, hash: string, header: unknown, claims: unknown): string {
  const signed = `${encoded(header)}.${encoded(claims)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest("base64url")}`;
}

/** Returns the JWK thumbprint (RFC 7638) of a public key. */
export function thumbprintOf(x: string): string {
  return digestOf(JSON.stringify({ crv: "Ed25519", kty: "OKP", x }));
}

/**
 * Returns the challenge that the Worker sends to a client that asks for this name with this key, with the time of
 * the recorded challenge.
 */
export function challengeAt(recorded: unknown, name: unknown, thumbprint: string): string {
  const [id = "", atMs = ""] = String(recorded).split(".");
  const [, secret = ""] = MAC_KEYS.split(":");
  const mac = (key: Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();
  const key = mac(Buffer.from(secret, "base64url"), "rollcall-challenge-key");
  const text = `rollcall-challenge\n${String(name)}\n${thumbprint}\n${atMs}`;
  return `${id}.${atMs}.${mac(key, text).toString("base64url")}`;
}

export function digestOf(body: Uint8Array | string): string {
  return createHash("sha256").update(body).digest("base64url");
}
