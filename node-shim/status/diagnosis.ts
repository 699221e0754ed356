// What the status of a machine's shim comes to: in one line, with its cure and an exit code. Pure.
import { valueOr } from "../../shared/result.ts";
import { storedEnrolment } from "../identity/identity.ts";
import { bootID } from "../sources/kernel/names.ts";
import { DIAGNOSES, type DiagnosisCode, type Entry, type Kind, NOT_READY_CURES } from "./diagnoses.ts";
import { readStatus, type SeenStatus, type StatusFile, thisReader } from "./status-file.ts";

export interface Diagnosis {
  kind: Kind;
  /** "edge-7 is Ready" */
  text: string;
  /** What to do; absent: nothing. */
  cure?: string;
  exitCode: DiagnosisCode;
  /** May it be over within seconds, without anybody's doing? */
  passes: boolean;
}

/** Why a report was not taken, where that is not about the machine's key. */
const OTHER_REFUSALS = new Map<string, Kind>([
  ["failed", "unreachable"],
  ["internal", "not served"],
  ["rate-limited", "not served"],
  ["not-configured", "Worker not configured"],
  ["wrong-origin", "wrong origin"],
]);

/** A report and its answers take this long at most, after the time for it has come. */
const LATE_MS = 60_000;

/** `name`: the enrolment's, where there is no status. null: not enrolled, as far as this user may read. */
export function diagnose(seen: SeenStatus | null, name: string | null, nowMs: number): Diagnosis {
  if (seen === null) {
    if (name === null) return diagnosis("not enrolled", "this machine", "");
    return diagnosis("not running", name, "nothing is reported");
  }
  const { file } = seen;
  const { answer, report } = file;
  if (!seen.isRunning) {
    if (file.ended) return diagnosis("ended", file.name, file.ended.fault);
    return diagnosis(
      "not running",
      file.name,
      report ? `the last report was at ${report.at}` : "nothing is reported",
    );
  }
  if (report === undefined) return diagnosis("starting", file.name, file.waiting ?? "");
  const dueMs = Date.parse(file.nextReportAt ?? report.at);
  if (nowMs > dueMs + LATE_MS)
    return diagnosis("hangs", file.name, `its report was due at ${file.nextReportAt}`);
  if (report.fault) {
    const { reason, message } = report.fault;
    return diagnosis(OTHER_REFUSALS.get(reason) ?? "refused", file.name, message);
  }
  return answer ? answered(file, answer) : diagnosis("starting", file.name, "");
}

function answered(file: StatusFile, answer: NonNullable<StatusFile["answer"]>): Diagnosis {
  const { name, notReady } = file;
  const { phase, ready, message, factsRefused } = answer;
  const refused = factsRefused && `its facts are refused at ${factsRefused.path}: ${factsRefused.message}`;
  const said = [message, refused].filter((text) => text !== undefined).join("; ");
  if (phase !== "registered") return diagnosis(phase, name, said);
  if (ready) return isReady(file, said, refused !== undefined);
  if (notReady === undefined) return diagnosis("not Ready", name, said || "the cluster does not say so yet");
  const { cure, passes } = NOT_READY_CURES[notReady.source] ?? DIAGNOSES["not Ready"];
  return { ...diagnosis("not Ready", name, notReady.message), cure, passes: passes === true };
}

function isReady({ name, transport }: StatusFile, said: string, hasRefusedFacts: boolean): Diagnosis {
  if (hasRefusedFacts) return { ...diagnosis("Ready", name, said), cure: DIAGNOSES["facts refused"].cure };
  const { via, choice, fault } = transport ?? {};
  if (via === "http" && choice === "socket" && fault !== undefined)
    return diagnosis("no socket", name, fault);
  return diagnosis("Ready", name, said);
}

function diagnosis(kind: Kind, name: string, message: string): Diagnosis {
  // A Worker that is newer than this shim may have another phase.
  const entry: Entry = DIAGNOSES[kind] ?? { ...DIAGNOSES["not Ready"], says: `is not Ready (${kind})` };
  return {
    kind,
    text: `${name} ${entry.says}${message && `: ${message}`}`,
    ...(entry.cure && { cure: entry.cure.replace(/\bNAME\b/, () => name) }),
    exitCode: entry.exitCode,
    passes: entry.passes === true,
  };
}

// What is known of this machine's shim without asking anybody: its status, and what that comes to.

interface MachineStatus {
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
