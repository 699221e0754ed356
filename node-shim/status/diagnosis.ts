// Diagnoses the status of this machine's shim: one line of text, its remedy and an exit code.
import { valueOr } from "../../shared/result.ts";
import { existsSync } from "node:fs";
import { writeProbe } from "../base/state-file.ts";
import { storedEnrolment, storedPending } from "../identity/identity.ts";
import { bootID } from "../sources/kernel/names.ts";
import { DIAGNOSES, type DiagnosisCode, type Entry, type Kind, NOT_READY_CURES } from "./diagnoses.ts";
import { readStatus, type SeenStatus, type StatusFile, thisReader } from "./status-file.ts";

export interface Diagnosis {
  kind: Kind;
  /** The line: "edge-7 is Ready". */
  text: string;
  /** The remedy; absent if there is nothing to do. */
  cure?: string;
  exitCode: DiagnosisCode;
  /** true if the state may pass by itself within seconds. */
  passes: boolean;
}

/** The diagnoses for failed reports that do not concern the machine's key, by the fault's reason. */
const OTHER_REFUSALS = new Map<string, Kind>([
  ["failed", "unreachable"],
  ["internal", "not served"],
  ["rate-limited", "not served"],
  ["not-configured", "Worker not configured"],
  ["wrong-origin", "wrong origin"],
  ["body-too-large", "too large"],
]);

/** The longest time from when a report is due to its answer; after a longer time, the shim counts as hung. */
const LATE_MS = 60_000;

/** Diagnoses the status `seen`. Without a status, `name` is the enrolment's; null if this user can read none. */
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
  const pressed = ready && file.pressures?.length ? `with ${file.pressures.join(" and ")}` : undefined;
  const details = [pressed, message, refused].filter((text) => text !== undefined).join("; ");
  if (phase !== "registered") return diagnosis(phase, name, details);
  if (ready) return readyDiagnosis(file, details, refused !== undefined);
  if (notReady === undefined)
    return diagnosis("not Ready", name, details || "the cluster does not show it as Ready yet");
  const { cure, passes } = NOT_READY_CURES[notReady.source] ?? DIAGNOSES["not Ready"];
  return { ...diagnosis("not Ready", name, notReady.message), cure, passes: passes === true };
}

function readyDiagnosis(
  { name, transport }: StatusFile,
  details: string,
  hasRefusedFacts: boolean,
): Diagnosis {
  if (hasRefusedFacts) return { ...diagnosis("Ready", name, details), cure: DIAGNOSES["facts refused"].cure };
  const { via, choice, fault } = transport ?? {};
  if (via === "http" && choice === "socket" && fault !== undefined)
    return diagnosis("no socket", name, fault);
  return diagnosis("Ready", name, details);
}

function diagnosis(kind: Kind, name: string, message: string): Diagnosis {
  // A newer Worker may have a phase that this shim does not know.
  const entry: Entry = Object.hasOwn(DIAGNOSES, kind)
    ? DIAGNOSES[kind]
    : { ...DIAGNOSES["not Ready"], says: `is not Ready (${kind})` };
  return {
    kind,
    text: `${name} ${entry.says}${message && `: ${message}`}`,
    ...(entry.cure && { cure: entry.cure.replace(/\bNAME\b/, () => name) }),
    exitCode: entry.exitCode,
    passes: entry.passes === true,
  };
}

interface MachineStatus {
  /** The status file; null if there is none, or if this user may not read it. */
  seen: SeenStatus | null;
  /** The code of the fault with which writes to the state folder fail; null if none is known. */
  stateFault: string | null;
  diagnosis: Diagnosis;
}

/** Reads and diagnoses the status. Throws, with the remedy, if this user may read neither status nor state folder. */
export async function statusOf(state: string, nowMs: number): Promise<MachineStatus> {
  const seen = readStatus(state, thisReader(valueOr(bootID("/"), "")));
  const name = seen === null ? storedName(state) : seen.file.name;
  const stateFault = existsSync(state) ? await writeProbe(state)() : null;
  const diagnosed = diagnose(seen, name, nowMs);
  const fault = stateFault === null ? null : `${state} cannot be written (${stateFault})`;
  return { seen, stateFault, diagnosis: fault === null ? diagnosed : withoutStatus(diagnosed, seen, fault) };
}

/** Returns the name for a diagnosis without a status; null if `join` has not been run. */
function storedName(state: string): string | null {
  return storedEnrolment(state)?.name ?? (storedPending(state) && "this machine");
}

/**
 * Returns the diagnosis of a status in a state folder that cannot be written: a status without a recent report then shows
 * no fault of the shim.
 */
export function withoutStatus(diagnosed: Diagnosis, seen: SeenStatus | null, fault: string): Diagnosis {
  if (seen?.isInState === false || !isStale(diagnosed.kind)) return diagnosed;
  const name = seen?.file.name ?? "this machine";
  return diagnosis("status unknown", name, `${fault}; the last status says: ${diagnosed.text}`);
}

/** Returns whether a status without a recent report gives this diagnosis, which a running shim may contradict. */
const isStale = (kind: Kind) => ["hangs", "starting", "ended", "not running"].includes(kind);
