// The next key in the state folder: stored before the Worker gets it, and until it has reported. The old key stays as
// long.
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { enrolmentFile, storeEnrolment, type StoredEnrolment } from "./identity.ts";
import { parseJson, readIfThere, writeDurably } from "../base/state-file.ts";
import { type MachineKey, machineKey, makeMachineKey } from "./machine-key.ts";

const nextFile = z.strictObject({
  jwk: z.looseObject({}),
  /** Absent until the Worker has pinned the key. */
  enrolment: z.optional(enrolmentFile),
});

export interface NextKey {
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
