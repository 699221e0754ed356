// Where a machine's Node stands, as the answer to its report says: the phase, and whether the Node is Ready.
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Stored } from "../storage/journal.ts";

export function phaseOf(error: ApiError): Phase {
  return error.kind === "unanswered" ? "apiserver unreachable" : "apiserver refuses";
}

/** As the apiserver has it. */
export function isReady(node: Node | undefined): boolean {
  return node !== undefined && readyConditionOf(node)?.status === "True";
}

/** A line of history when the phase is another one than in the last answer. */
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
