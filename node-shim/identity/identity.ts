// The machine's key and enrolment in its state folder: 0600, on disk before they are used.
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "jose";
import * as z from "zod/mini";
import { parseJson, readIfThere, writeDurably } from "../base/state-file.ts";
import { type MachineKey, machineKey, makeMachineKey } from "./machine-key.ts";

export const enrolmentFile = z.strictObject({
  name: z.string(),
  /** The key that was enrolled. */
  thumbprint: z.string(),
  kid: z.string().check(z.minLength(1)),
  /** The Worker that enrolled it. */
  origin: z.optional(z.string()),
});
/** The enrolment by which this machine's key is pinned. */
export type StoredEnrolment = z.infer<typeof enrolmentFile>;

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
