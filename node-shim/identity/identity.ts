// The machine's key and enrolment in its state folder: 0600, on disk before they are used.
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from "jose";
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJson, readIfThere, writeDurably } from "../base/state-file.ts";

const enrolmentFile = z.strictObject({
  name: z.string(),
  /** The key that was enrolled. */
  thumbprint: z.string(),
  kid: z.string().check(z.minLength(1)),
  /** The Worker that enrolled it. */
  origin: z.optional(z.string()),
});
/** The enrolment by which this machine's key is pinned. */
type StoredEnrolment = z.infer<typeof enrolmentFile>;

/** The machine's key: read, or made and fsynced when the (locked) folder has none. Throws with what to do. */
export async function loadOrMakeKey(stateFolder: string): Promise<MachineKey> {
  const stored = await loadKey(stateFolder);
  if (stored !== null) return stored;
  const key = await makeMachineKey();
  writeDurably(join(stateFolder, "key.json"), JSON.stringify(key.jwk));
  return key;
}

/** The machine's key; null where none was made yet. Throws with what to do. */
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

/** The enrolment of this name and key; null when there is none, or only another key's. Throws for another name's. */
export function loadEnrolment(
  stateFolder: string,
  { name, thumbprint }: Pick<StoredEnrolment, "name" | "thumbprint">,
): StoredEnrolment | null {
  const stored = storedEnrolment(stateFolder);
  if (stored === null) return null;
  if (stored.name !== name)
    throw new Error(`${stateFolder} belongs to the node ${stored.name}: use another --state for ${name}`);
  return stored.thumbprint === thumbprint ? stored : null;
}

/** The enrolment in the folder, of any name and key; null when there is none. Throws with what to do. */
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
  rmSync(join(stateFolder, LEFT), { force: true });
  writeDurably(join(stateFolder, "enrolment.json"), JSON.stringify(enrolment));
}

/** Says under which name this machine has left, so that leaving again is no error. */
const LEFT = "left.json";
const leftFile = z.strictObject({ name: z.string() });

/** Under which name this machine has left; null: it has not, or has enrolled again. Throws with what to do. */
export function leftName(stateFolder: string): string | null {
  const text = readIfThere(join(stateFolder, LEFT));
  return text === null ? null : (leftFile.safeParse(parseJson(text)).data?.name ?? "this machine");
}

/**
 * After leaving, the key is refused for ever, and coming back needs a new one. Notes first that the machine has left:
 * what a crash interrupts is not to be asked of the Worker again. Removes the enrolment before the key, and what says
 * how the machine's shim did.
 */
export function forgetIdentity(stateFolder: string, name: string): void {
  if (leftName(stateFolder) === null) writeDurably(join(stateFolder, LEFT), JSON.stringify({ name }));
  for (const file of ["next.json", "enrolment.json", "key.json", "status.json", "failed-upgrade.json"])
    rmSync(join(stateFolder, file), { force: true });
}

// Makes a machine's key, from its JWK or anew. Uses neither files nor network.

export interface MachineKey {
  /** Private JWK (OKP, Ed25519): what is kept on disk. */
  jwk: JWK;
  signing: CryptoKey;
  /** `x` alone, for headers. */
  publicJwk: { kty: "OKP"; crv: "Ed25519"; x: string };
  /** RFC 7638. */
  thumbprint: string;
}

/** A key from its private JWK; throws where the JWK is not an Ed25519 private key. */
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

// The next key in the state folder: stored before the Worker gets it, and until it has reported. The old key stays as
// long.

const nextFile = z.strictObject({
  jwk: z.looseObject({}),
  /** Absent until the Worker has pinned the key. */
  enrolment: z.optional(enrolmentFile),
});

interface NextKey {
  key: MachineKey;
  enrolment: StoredEnrolment | undefined;
}

/** null where no rotation is under way. Throws with what to do. */
export async function loadNextKey(stateFolder: string): Promise<NextKey | null> {
  const path = join(stateFolder, "next.json");
  const text = readIfThere(path);
  if (text === null) return null;
  try {
    const { jwk, enrolment } = nextFile.parse(parseJson(text));
    return { key: await machineKey(jwk), enrolment };
  } catch (error) {
    throw new Error(`${path} is damaged: remove it; until its key has reported the one before is good`, {
      cause: error,
    });
  }
}

/** The next key, if the Worker has pinned it: the machine signs with it from now on. null: with its own key. */
export async function pinnedNextKey(stateFolder: string, name: string): Promise<Required<NextKey> | null> {
  const next = await loadNextKey(stateFolder);
  return next?.enrolment?.name === name ? next : null;
}

/** On disk before it is used. */
export async function makeNextKey(stateFolder: string): Promise<NextKey> {
  const key = await makeMachineKey();
  writeDurably(join(stateFolder, "next.json"), JSON.stringify({ jwk: key.jwk }));
  return { key, enrolment: undefined };
}

/** Call it when the Worker has pinned the key: the machine signs with it from the next start on. */
export function storeNextEnrolment(stateFolder: string, key: MachineKey, enrolment: StoredEnrolment): void {
  writeDurably(join(stateFolder, "next.json"), JSON.stringify({ jwk: key.jwk, enrolment }));
}

/**
 * Call it when the next key has reported: the old key is refused from now on. After a crash the next start repeats it.
 */
export function adoptNextKey(stateFolder: string, { key, enrolment }: NextKey): void {
  if (!enrolment) throw new Error("a next key that was not pinned");
  storeEnrolment(stateFolder, enrolment);
  writeDurably(join(stateFolder, "key.json"), JSON.stringify(key.jwk));
  rmSync(join(stateFolder, "next.json"), { force: true });
}
