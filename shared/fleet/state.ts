// The state of a machine in one word, the same in API, command line, feed, metrics and page.
import type { Phase } from "../protocol/answers.ts";

export const FLEET_STATES = [
  /** Registered, the Node Ready, the lease renewed. */
  "ready",
  /** Registered, or about to be; the machine reports, and Ready is False or Unknown. */
  "not-ready",
  /** No report for a lease duration, while the Worker and the apiserver work. */
  "silent",
  /** The machine reports, and the Worker cannot write to the apiserver. */
  "cluster-unreachable",
  /** The Worker writes nothing until an operator acts; the phase says why. */
  "blocked",
  /** It waits for an operator's approval. */
  "pending",
  /** Its key is refused. */
  "revoked",
] as const;
export type FleetState = (typeof FLEET_STATES)[number];

/** The states, the most urgent first. */
export const URGENCY: readonly FleetState[] = [
  "cluster-unreachable",
  "silent",
  "not-ready",
  "blocked",
  "pending",
  "revoked",
  "ready",
];

/** The number of machines in each state; absent for none. */
export type FleetCounts = Partial<Record<FleetState, number>>;

/** What is known of an enrolled machine. The registry lists machines that wait for approval: they have no node object. */
export interface StandingOfMachine {
  isRevoked: boolean;
  isSilent: boolean;
  /** Phase of the last answer; null before the first. */
  phase: Phase | null;
  /** Whether the Node, as last known, is Ready. */
  isReady: boolean;
}

const STATE_OF_PHASE: Record<Exclude<Phase, "registered">, FleetState> = {
  registering: "not-ready",
  "setup failed": "not-ready",
  "facts refused": "blocked",
  "waiting for Node": "blocked",
  cloned: "blocked",
  "two shims": "blocked",
  "name taken": "blocked",
  "node deleted": "blocked",
  "apiserver unreachable": "cluster-unreachable",
  "apiserver refuses": "cluster-unreachable",
  "apiserver not configured": "cluster-unreachable",
};

/** A machine that has enrolled and has not reported yet is not ready. */
export function fleetStateOf({ isRevoked, isSilent, phase, isReady }: StandingOfMachine): FleetState {
  if (isRevoked) return "revoked";
  if (isSilent) return "silent";
  if (phase !== null && phase !== "registered") return STATE_OF_PHASE[phase];
  return phase !== null && isReady ? "ready" : "not-ready";
}

/** Writes a line of history of the kind `state`. */
export function stateChangeText(from: FleetState | null, to: FleetState): string {
  return from === null ? to : `${from} → ${to}`;
}

/** Returns the state in such a line; null for another line, or one of a newer version. */
export function parseStateChange(text: string): FleetState | null {
  const to = text.split(" → ").at(-1);
  return FLEET_STATES.find((state) => state === to) ?? null;
}
