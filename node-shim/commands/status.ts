// node-shim status: what the running shim last did, and what it comes to. Offline: asks nobody, changes nothing.
import { storedEnrolment } from "../identity/identity.ts";
import { bootID } from "../sources/kernel/ids.ts";
import { type Diagnosis, diagnose } from "../status/diagnosis.ts";
import { statusScreen, type Screen } from "../status/screen.ts";
import { readStatus, type SeenStatus, type StatusReader, thisReader } from "../status/status-file.ts";
import { valueOr } from "../../shared/result.ts";

export interface StatusFlags {
  state: string;
  json?: boolean;
}

export interface MachineStatus {
  seen: SeenStatus | null;
  diagnosis: Diagnosis;
}

/** Throws with what to do where this user may read neither the status nor the state folder. */
export function statusOf(
  state: string,
  nowMs: number,
  reader: StatusReader = thisReader(valueOr(bootID("/"), "")),
): MachineStatus {
  const seen = readStatus(state, reader);
  const name = seen === null ? (storedEnrolment(state)?.name ?? null) : seen.file.name;
  return { seen, diagnosis: diagnose(seen, name, nowMs) };
}

/** What is printed, and the exit code. */
export function statusCommand(
  { state, json }: StatusFlags,
  screen: Screen,
): { text: string; exitCode: number } {
  const nowMs = Date.now();
  const { seen, diagnosis } = statusOf(state, nowMs);
  const { exitCode } = diagnosis;
  if (!json) return { text: statusScreen(diagnosis, seen, nowMs, screen), exitCode };
  const { kind, text, cure } = diagnosis;
  const whole = { kind, text, cure, exitCode, isRunning: seen?.isRunning ?? false, status: seen?.file };
  return { text: `${JSON.stringify(whole, null, 2)}\n`, exitCode };
}
