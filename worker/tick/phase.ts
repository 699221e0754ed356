// The phase and the readiness of a machine's Node, for the answer to its report.
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Stored } from "../storage/journal.ts";

export function phaseOf(error: ApiError): Phase {
  return error.kind === "unanswered" ? "apiserver unreachable" : "apiserver refuses";
}

export function isReady(node: Node | undefined): boolean {
  return node !== undefined && readyConditionOf(node)?.status === "True";
}

/** Adds a line of history when the phase differs from that of the last answer. */
export function recordPhase({ records, journal }: Stored, phase: Phase, nowMs: number): void {
  const before = records.get("phase");
  if (phase === before) return;
  records.put("phase", phase);
  records.remove("apiserverBackSinceMs");
  const kind = isAway(phase) || isAway(before) ? "apiserver" : "phase";
  journal.note(kind, before === undefined ? phase : `${before} → ${phase}`, nowMs);
}

function isAway(phase: Phase | undefined): boolean {
  return phase === "apiserver unreachable" || phase === "apiserver refuses";
}
