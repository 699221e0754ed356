// Describes machines whose reports do not count: Ready on their Nodes, and what a view shows of their conditions.
import { isOfOperators } from "../kubernetes/lifecycle-conditions.ts";
import type { Phase } from "../protocol/answers.ts";

/** The reason and the message of the condition Ready. */
export interface Unready {
  reason: string;
  message: string;
}

export const UNREADY = {
  cloned: {
    reason: "MachineCloned",
    message:
      "Several machines report with this machine's key, and rollcall trusts no report of theirs. " +
      "`rollcall node clones` lists the machines.",
  },
  revoked: {
    reason: "KeyRevoked",
    message:
      "The Worker of rollcall refuses this machine's key. An operator revoked the key, or gave the name to another machine.",
  },
  removed: {
    reason: "MachineRemoved",
    message:
      "The machine has left rollcall, or an operator removed it. rollcall could not delete this Node yet.",
  },
} as const satisfies Record<string, Unready>;

/** Returns why no report of the machine counts; null if its reports count. `isLeaving`: the machine is being removed. */
export function unreadyOf({
  isRevoked,
  isLeaving,
  phase,
}: {
  isRevoked: boolean;
  isLeaving: boolean;
  phase: Phase | null;
}): Unready | null {
  if (isLeaving) return UNREADY.removed;
  if (isRevoked) return UNREADY.revoked;
  return phase === "cloned" ? UNREADY.cloned : null;
}

/** The begin of a summary's `why` while a machine's removal waits. */
export const BEING_REMOVED = "it is being removed, and the Worker tries again until its Node is deleted";

export const isBeingRemoved = (why: string): boolean => why.startsWith(BEING_REMOVED);

interface RememberedCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/**
 * Returns remembered conditions as what they are now: Unknown. A message keeps the last report's status and text.
 * Conditions that operators set do not depend on reports.
 */
export function asUnknown<Condition extends RememberedCondition>(
  conditions: readonly Condition[],
  { reason, message }: Unready,
  sinceMs: number, // the time since when no report counts
): Condition[] {
  const lastTransitionTime = new Date(sinceMs).toISOString();
  return conditions.map((condition) => {
    const { type, status, message: text = "" } = condition;
    if (isOfOperators(type)) return condition;
    const remembered = `${status} in its last report${text && `: ${text}`}`;
    const now = { status: "Unknown", reason, lastTransitionTime };
    return { ...condition, ...now, message: type === "Ready" ? message : remembered };
  });
}
