// The phase and the readiness of a machine's Node, for the answer to its report.
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { type ApiError, isForbidden } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import { fromTo } from "../storage/from-to.ts";
import type { Stored } from "../storage/journal.ts";

export function phaseOf(error: ApiError): Phase {
  return error.kind === "unanswered" ? "apiserver unreachable" : "apiserver refuses";
}

/** Returns which operator can fix a refusal, if no report can. The apiserver's own words go to the Worker's log alone. */
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

/** Returns false for a Node that is gone or another writer's, whose last known status may be Ready. */
export function isRegisteredReady(records: Stored["records"], node: Node | undefined): boolean {
  return records.get("registration")?.phase === "registered" && isReady(node);
}

/**
 * Adds a line of history if the phase differs from that of the last answer. `askedMs`: when the apiserver was asked, which
 * is when its failure begins.
 */
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

/** Returns the phase of the last answer to the machine; undefined if it has had none. */
export function lastPhase(records: Stored["records"]): Phase | undefined {
  const stored = records.get("phase");
  return typeof stored === "object" ? stored.phase : stored;
}

/** Returns since when the apiserver fails, as of the last report; undefined if it does not. */
export function awaySinceMs(records: Stored["records"]): number | undefined {
  const stored = records.get("phase");
  return typeof stored === "object" ? stored.sinceMs : undefined;
}

function isAway(phase: Phase | undefined): boolean {
  return phase === "apiserver unreachable" || phase === "apiserver refuses";
}
