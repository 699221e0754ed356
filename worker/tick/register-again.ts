// Decides whether and when a deleted Node is registered again. A kubelet's Node stays deleted until the kubelet
// restarts. However, people, clouds and autoscalers also delete the Nodes of silent machines, whose shims no
// operator restarts.
import type { RegisterAgain } from "../env.ts";
import type { Deletion, NodeRecordStore } from "../storage/records.ts";
import { isReady } from "./phase.ts";

export const AGAIN_LIMITS = {
  firstWaitMs: 60_000,
  /** The longest wait. Each wait doubles the wait before. A Node that exists for this time resets the waits. */
  longestWaitMs: 3_600_000,
  /** The time after the creation within which a deletion shows that another program does not want the Node. */
  soonMs: 10 * 60_000,
  /** The number of soon deletions after which the Node stays deleted, until an operator acts or the shim restarts. */
  soonDeletions: 3,
} as const;

/** Returns a deletion's record with the next wait. `createdAtMs`: undefined if the Worker recorded no creation. */
export function deletionAfter(
  before: Deletion | undefined,
  { nowMs, createdAtMs, wasReady }: { nowMs: number; createdAtMs: number | undefined; wasReady: boolean },
): Deletion {
  const { firstWaitMs, longestWaitMs, soonMs } = AGAIN_LIMITS;
  // A clock that was put back must not make a Node look old.
  const stoodMs = createdAtMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - createdAtMs);
  // If the Worker itself removed the Node before, no earlier wait exists that could double.
  const isSequel = stoodMs < longestWaitMs && before?.silentDays === undefined;
  const last = isSequel ? before : undefined;
  return {
    atMs: nowMs,
    wasReady,
    waitMs: last ? Math.min(2 * last.waitMs, longestWaitMs) : firstWaitMs,
    soon: (last?.soon ?? 0) + (stoodMs < soonMs ? 1 : 0),
  };
}

export type Again =
  | { kind: "now" }
  | { kind: "wait"; untilMs: number }
  /** The Node stays deleted until the shim restarts, or an operator requests its registration. */
  | { kind: "never"; why: string };

/** Returns whether a deleted Node is registered again. `deletion`: undefined if an earlier version recorded none. */
export function registersAgain(deletion: Deletion | undefined, policy: RegisterAgain, nowMs: number): Again {
  if (deletion?.silentDays !== undefined) return { kind: "now" };
  if (policy === "never") return { kind: "never", why: "Its Node was deleted." };
  if (policy === "when-silent" && deletion?.wasReady !== false)
    return { kind: "never", why: "Its Node was deleted while it was Ready." };
  if (!deletion) return { kind: "now" };
  if (deletion.soon >= AGAIN_LIMITS.soonDeletions)
    return { kind: "never", why: `Its Node was deleted soon after it was created, ${deletion.soon} times.` };
  const { atMs, waitMs } = deletion;
  // A clock that was put back must not extend the wait.
  return nowMs >= atMs && nowMs - atMs < waitMs ? { kind: "wait", untilMs: atMs + waitMs } : { kind: "now" };
}

/** Returns true if the Node was Ready when last known: then its deletion was intended, not caused by silence. */
export function wasReady(records: NodeRecordStore): boolean {
  const known = records.get("node");
  return known !== undefined && isReady(known.node) && !known.hasLapsed;
}

/** Returns why this report does not register the deleted Node, for the operator; undefined if the report does. */
export function staysDeleted({
  records,
  registerAgain,
  name,
  nowMs,
}: {
  records: NodeRecordStore;
  registerAgain: RegisterAgain;
  name: string;
  nowMs: () => number;
}): string | undefined {
  const again = registersAgain(records.get("deletion"), registerAgain, nowMs());
  if (again.kind === "now") return undefined;
  if (again.kind === "never")
    return `${again.why} To have it back, restart the shim on the machine, or have an operator run: rollcall node register ${name}`;
  return `${AGAIN_WHEN_READY}, from ${new Date(again.untilMs).toISOString()} on`;
}

export const AGAIN_WHEN_READY =
  "Its Node was deleted. It is registered again with the first report that would make it Ready";
