// How much of its Node a machine may have written: whoever has its key decides how often its status changes, and etcd keeps
// each version of a Node for minutes. Kept in memory and in the lease's annotation, so that an eviction does not fill it up.
import type { Node } from "../../shared/kubernetes/types.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";

export const STATUS_BUDGET = {
  /** Bytes at once: some six writes of a Node with many images. */
  bytesAtOnce: 128 * 1024,
  /** A Node of 20 KiB every five minutes takes a ninth of it. */
  bytesAnHour: 2 * 1024 * 1024,
  /** Writes that are not to be withheld, see isUrgent. */
  urgentAtOnce: 2,
  urgentAMinute: 2,
} as const;
/** Of a Node. What is larger is not written: a list of Nodes is read by every controller of the cluster. */
export const MAX_NODE_BYTES = 64 * 1024;

/** What is left. An absent one is full. */
export interface StatusBudget {
  /** Less than nothing after writes that could not wait: those after them wait until that has come back as well. */
  bytes: number;
  urgent: number;
  /** When that was so, in milliseconds since 1970. */
  atMs: number;
}

/** What is left at this time: it fills up as time passes. A clock that was put back fills nothing. */
export function budgetAt(budget: StatusBudget | undefined, nowMs: number): StatusBudget {
  const { bytesAtOnce, bytesAnHour, urgentAtOnce, urgentAMinute } = STATUS_BUDGET;
  if (!budget) return { bytes: bytesAtOnce, urgent: urgentAtOnce, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - budget.atMs);
  return {
    bytes: Math.min(bytesAtOnce, budget.bytes + (elapsedMs * bytesAnHour) / 3_600_000),
    urgent: Math.min(urgentAtOnce, budget.urgent + (elapsedMs * urgentAMinute) / 60_000),
    atMs: nowMs,
  };
}

/** Is as much left as if nothing had been written for long? */
export function isFull(budget: StatusBudget, nowMs: number): boolean {
  const { bytes, urgent } = budgetAt(budget, nowMs);
  return bytes >= STATUS_BUDGET.bytesAtOnce && urgent >= STATUS_BUDGET.urgentAtOnce;
}

/** What is left after a write of so many bytes; null: it has to wait. */
export function spendWrite(
  budget: StatusBudget | undefined,
  { bytes, urgent }: { bytes: number; urgent: boolean },
  nowMs: number,
): StatusBudget | null {
  const left = budgetAt(budget, nowMs);
  if (left.bytes >= bytes) return { ...left, bytes: left.bytes - bytes };
  return urgent && left.urgent >= 1 ? { ...left, bytes: left.bytes - bytes, urgent: left.urgent - 1 } : null;
}

/** What is left after a write that had to be: registrations have a budget of their own. */
export function spendAnyway(budget: StatusBudget | undefined, bytes: number, nowMs: number): StatusBudget {
  const left = budgetAt(budget, nowMs);
  return { ...left, bytes: left.bytes - bytes };
}

/** Bytes of a Node in JSON; the apiserver keeps somewhat less. */
export function sizeOf(node: Node): number {
  return new TextEncoder().encode(JSON.stringify(node)).length;
}

/**
 * A Node that stops being Ready, and one that the node controller has given up, are not left to look otherwise. Becoming
 * Ready again can wait, so that both are bounded.
 */
export function isUrgent(original: Node, next: Node): boolean {
  const [was, is] = [readyConditionOf(original)?.status, readyConditionOf(next)?.status];
  return was === "Unknown" || (was === "True" && is !== "True");
}

/** For the lease's annotation: amounts in the order of StatusBudget. */
export function budgetText({ bytes, urgent, atMs }: StatusBudget): string {
  return [Math.floor(bytes), Math.floor(urgent * 1000) / 1000, atMs].join(" ");
}

/** undefined: full, as for a lease from before there were budgets. A text that cannot be read counts as nothing left. */
export function parseBudget(text: string | undefined, nowMs: number): StatusBudget | undefined {
  if (text === undefined) return undefined;
  const [bytes = Number.NaN, urgent = -1, atMs = -1, ...rest] = text.split(" ").map(Number);
  const isSound = [urgent, atMs].every((amount) => amount >= 0 && Number.isFinite(amount));
  if (!isSound || !Number.isFinite(bytes) || rest.length > 0) return emptyBudget(nowMs);
  // A clock that was ahead must not keep it from filling.
  return { bytes, urgent, atMs: Math.min(atMs, nowMs) };
}

/** Of a lease that cannot be read. */
export const emptyBudget = (nowMs: number): StatusBudget => ({ bytes: 0, urgent: 0, atMs: nowMs });
