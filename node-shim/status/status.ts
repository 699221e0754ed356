// What is known of this machine's shim without asking anybody: its status, and what that comes to.
import { storedEnrolment } from "../identity/identity.ts";
import { bootID } from "../sources/kernel/names.ts";
import { valueOr } from "../../shared/result.ts";
import { type Diagnosis, diagnose } from "./diagnosis.ts";
import { readStatus, type SeenStatus, thisReader } from "./status-file.ts";

export interface MachineStatus {
  /** null: none was left, or this user may not read it. */
  seen: SeenStatus | null;
  diagnosis: Diagnosis;
}

/** Throws with what to do where this user may read neither a status nor the state folder. */
export function statusOf(state: string, nowMs: number): MachineStatus {
  const seen = readStatus(state, thisReader(valueOr(bootID("/"), "")));
  const name = seen === null ? (storedEnrolment(state)?.name ?? null) : seen.file.name;
  return { seen, diagnosis: diagnose(seen, name, nowMs) };
}
