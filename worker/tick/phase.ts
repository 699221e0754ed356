// Records the phase of a machine's Node and determines its readiness, for the answer to a report.
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { type ApiError, isConflict, isForbidden } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import { fromTo } from "../storage/from-to.ts";
import type { Stored } from "../storage/journal.ts";

/** The phases in which the apiserver answers, so that events can be sent. */
export const FLUSHING_PHASES = new Set<Phase>(["registered", "name taken", "node deleted"]);

/**
 * Returns the phase after a failed request. A conflict and an unsent request do not blame the apiserver, since a machine can
 * cause them alone.
 */
export function phaseAfter(error: ApiError, records: Stored["records"]): Phase {
  const isUnsent = error.kind === "unanswered" && error.isUnsent === true;
  const before = lastPhase(records);
  if (isUnsent && before !== undefined && isAway(before)) return before;
  if (isUnsent || isConflict(error))
    return records.get("registration")?.phase === "registered" ? "registered" : "registering";
  return error.kind === "unanswered" ? "apiserver unreachable" : "apiserver refuses";
}

/** Returns a message that names the operator who can fix a refusal; no message if the next report may succeed. */
export function refusalMessage(error: ApiError): { message?: string } {
  if (error.kind === "unanswered")
    return error.cure === undefined
      ? {}
      : {
          message:
            "something else answers in the apiserver's place: the Worker's operator finds out more by GET /readyz",
        };
  if (error.status.code === 401)
    return {
      message: "the apiserver does not accept the Worker's token: its operator finds out more by GET /readyz",
    };
  return isForbidden(error)
    ? { message: "the cluster refuses what the Worker asks for this machine: the Worker's log says why" }
    : {};
}

export function isReady(node: Node | undefined): boolean {
  return node !== undefined && readyConditionOf(node)?.status === "True";
}

/** Returns true if the Node is registered and Ready. A lost Node's last status may be Ready, but does not count. */
export function isRegisteredReady(records: Stored["records"], node: Node | undefined): boolean {
  return records.get("registration")?.phase === "registered" && isReady(node);
}

/** Adds a line of history if the phase has changed. `askedMs`: when the apiserver was asked; its failure began then. */
export function recordPhase(
  { records, journal }: Stored,
  phase: Phase,
  nowMs: number,
  askedMs = nowMs,
): void {
  const stored = records.get("phase");
  const before = lastPhase(records);
  if (phase === before) return;
  records.put("phase", isAway(phase) ? { phase, sinceMs: askedMs } : phase);
  records.remove("apiserverBackSinceMs");
  const kind = isAway(phase) || isAway(before) ? "apiserver" : "phase";
  const away = typeof stored === "object" ? `: away ${fromTo(stored.sinceMs, nowMs)}` : "";
  journal.note(kind, before === undefined ? phase : `${before} → ${phase}${away}`, nowMs);
}

/** Returns the phase of the last answer to the machine; undefined if the machine has had no answer. */
export function lastPhase(records: Stored["records"]): Phase | undefined {
  const stored = records.get("phase");
  return typeof stored === "object" ? stored.phase : stored;
}

/** Returns the time since when the apiserver fails, as of the last report; undefined if it does not fail. */
export function awaySinceMs(records: Stored["records"]): number | undefined {
  const stored = records.get("phase");
  return typeof stored === "object" ? stored.sinceMs : undefined;
}

function isAway(phase: Phase | undefined): boolean {
  return phase === "apiserver unreachable" || phase === "apiserver refuses";
}
