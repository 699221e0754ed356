// Stores the machine's key, enrolment and next key in the state folder, on disk before the shim uses them.
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from "jose";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJson, readIfThere, removeFiles, writeDurably } from "../base/state-file.ts";

const enrolmentFile = z.strictObject({
  name: z.string(),
  /** The thumbprint of the enrolled key. */
  thumbprint: z.string(),
  kid: z.string().check(z.minLength(1)),
  /** The origin of the Worker that enrolled the key. */
  origin: z.optional(z.string()),
});
type StoredEnrolment = z.infer<typeof enrolmentFile>;

/** Reads the machine's key from the locked folder, or makes and stores one. Throws, with the remedy, if that fails. */
export async function loadOrMakeKey(stateFolder: string): Promise<MachineKey> {
  const stored = await loadKey(stateFolder);
  if (stored !== null) return stored;
  const key = await makeMachineKey();
  writeDurably(join(stateFolder, "key.json"), JSON.stringify(key.jwk));
  return key;
}

/** Reads the machine's key; null if there is none. Throws, with the remedy, for an unreadable or untrusted file. */
export async function loadKey(stateFolder: string): Promise<MachineKey | null> {
  const path = join(stateFolder, "key.json");
  const text = readIfThere(path);
  if (text === null) return null;
  try {
    return await machineKey(JSON.parse(text) as JWK);
  } catch (error) {
    throw new Error(
      `${path} does not hold this machine's key: restore it, or remove it and enrol again under an operator's approval`,
      { cause: error },
    );
  }
}

/** Reads this name's and key's enrolment; null if there is none. Throws if the folder has another name's enrolment. */
export function loadEnrolment(
  stateFolder: string,
  { name, thumbprint }: Pick<StoredEnrolment, "name" | "thumbprint">,
): StoredEnrolment | null {
  const stored = storedEnrolment(stateFolder);
  if (stored === null) return null;
  if (stored.name !== name)
    throw new Error(
      `${stateFolder} is enrolled as ${stored.name}: pass --hostname-override ${stored.name}, or another --state for ${name}`,
    );
  return stored.thumbprint === thumbprint ? stored : null;
}

/** Reads the enrolment, of any name and key, or null. Throws, with the remedy, for an unreadable or untrusted file. */
export function storedEnrolment(stateFolder: string): StoredEnrolment | null {
  const path = join(stateFolder, "enrolment.json");
  const text = readIfThere(path);
  if (text === null) return null;
  const parsed = enrolmentFile.safeParse(parseJson(text));
  if (!parsed.success)
    throw new Error(`${path} is damaged: remove it and enrol again with a join token (the key stays)`);
  return parsed.data;
}

export function storeEnrolment(stateFolder: string, enrolment: StoredEnrolment): void {
  removeFiles(stateFolder, [LEFT, PENDING]);
  writeDurably(join(stateFolder, "enrolment.json"), JSON.stringify(enrolment));
}

/** The file of a machine that waits for an operator's approval. With the file, the service can enrol by itself. */
const PENDING = "pending.json";
const pendingFile = z.strictObject({ origin: z.string(), joinToken: z.string() });
export type PendingEnrolment = z.infer<typeof pendingFile>;

export function storePending(stateFolder: string, pending: PendingEnrolment): void {
  writeDurably(join(stateFolder, PENDING), JSON.stringify(pending));
}

/** Reads the Worker and the join token of a machine that waits, or null. Throws, with the remedy, for an untrusted file. */
export function storedPending(stateFolder: string): PendingEnrolment | null {
  const text = readIfThere(join(stateFolder, PENDING));
  return text === null ? null : (pendingFile.safeParse(parseJson(text)).data ?? null);
}

/** The file with the name under which this machine has left, so that a second `leave` is no error. */
const LEFT = "left.json";
const leftFile = z.strictObject({ name: z.string() });

/** Reads this machine's name if it has left, or null. Throws, with the remedy, for an unreadable or untrusted file. */
export function leftName(stateFolder: string): string | null {
  const text = readIfThere(join(stateFolder, LEFT));
  return text === null ? null : (leftFile.safeParse(parseJson(text)).data?.name ?? "this machine");
}

/**
 * Deletes key, enrolment and status after a leave: the Worker refuses the key for ever. First stores that the
 * machine has left, so that the shim does not ask the Worker again after a crash. Deletes the enrolment before the
 * key.
 */
export function forgetIdentity(stateFolder: string, name: string): void {
  if (leftName(stateFolder) === null) writeDurably(join(stateFolder, LEFT), JSON.stringify({ name }));
  removeFiles(stateFolder, ["next.json", "enrolment.json", "key.json", "status.json", "failed-upgrade.json"]);
}

export interface MachineKey {
  /** The private JWK (OKP, Ed25519), as stored on disk. */
  jwk: JWK;
  signing: CryptoKey;
  /** The public JWK, with `x` alone, for headers. */
  publicJwk: { kty: "OKP"; crv: "Ed25519"; x: string };
  /** The key's thumbprint (RFC 7638). */
  thumbprint: string;
}

/** Makes a key from its private JWK; throws if the JWK is not an Ed25519 private key. */
export async function machineKey(jwk: JWK): Promise<MachineKey> {
  const { kty, crv, x, d } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519" || !x || !d) throw new Error("not an Ed25519 private key");
  const publicJwk = { kty: "OKP", crv: "Ed25519", x } as const;
  const signing = await importJWK({ ...publicJwk, d }, "EdDSA");
  return {
    jwk: { ...publicJwk, d },
    signing,
    publicJwk,
    thumbprint: await calculateJwkThumbprint(publicJwk),
  };
}

export async function makeMachineKey(): Promise<MachineKey> {
  const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  return machineKey(await exportJWK(privateKey));
}

// A rotation's next key, stored before it is sent. The old key stays until a report with the next key is accepted.

const nextFile = z.strictObject({
  jwk: z.looseObject({}),
  /** Absent until the Worker has pinned the key. */
  enrolment: z.optional(enrolmentFile),
});

interface NextKey {
  key: MachineKey;
  enrolment: StoredEnrolment | undefined;
}

/** Reads a rotation's next key; null if there is none. Throws, with the remedy, for an unreadable or untrusted file. */
export async function loadNextKey(stateFolder: string): Promise<NextKey | null> {
  const path = join(stateFolder, "next.json");
  const text = readIfThere(path);
  if (text === null) return null;
  try {
    const { jwk, enrolment } = nextFile.parse(parseJson(text));
    return { key: await machineKey(jwk), enrolment };
  } catch (error) {
    throw new Error(`${path} is damaged: remove it; the former key is valid until this one has reported`, {
      cause: error,
    });
  }
}

/** Reads the next key if the Worker has pinned it, so that the machine now signs with it; null if there is none. */
export async function pinnedNextKey(stateFolder: string, name: string): Promise<Required<NextKey> | null> {
  const next = await loadNextKey(stateFolder);
  return next?.enrolment?.name === name ? next : null;
}

export async function makeNextKey(stateFolder: string): Promise<NextKey> {
  const key = await makeMachineKey();
  writeDurably(join(stateFolder, "next.json"), JSON.stringify({ jwk: key.jwk }));
  return { key, enrolment: undefined };
}

/** Stores the enrolment of the pinned next key, with which the shim signs from its next start. */
export function storeNextEnrolment(stateFolder: string, key: MachineKey, enrolment: StoredEnrolment): void {
  writeDurably(join(stateFolder, "next.json"), JSON.stringify({ jwk: key.jwk, enrolment }));
}

/**
 * Makes the next key the machine's key. Must be called once the Worker has accepted a report with the next key,
 * since the Worker then refuses the old key. After a crash, the next start calls this function again.
 */
export function adoptNextKey(stateFolder: string, { key, enrolment }: NextKey): void {
  if (!enrolment) throw new Error("a next key that was not pinned");
  storeEnrolment(stateFolder, enrolment);
  writeDurably(join(stateFolder, "key.json"), JSON.stringify(key.jwk));
  removeFiles(stateFolder, ["next.json"]);
}
