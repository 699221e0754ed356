// The one word that sums a machine up for operators: the same in API, command line, feed, metrics and page.
import type { Phase } from "../protocol/answers.ts";

export const FLEET_STATES = [
  /** Registered, the Node Ready, the lease renewed. */
  "ready",
  /** Registered, or about to be, and Ready is False or Unknown while the machine reports. */
  "not-ready",
  /** Not heard of for a lease duration, path and apiserver being well. */
  "silent",
  /** The machine reports, and the apiserver cannot be written. */
  "cluster-unreachable",
  /** Nothing is written until somebody acts; the phase says why. */
  "blocked",
  /** It waits for an operator's approval. */
  "pending",
  /** Its key is refused. */
  "revoked",
] as const;
export type FleetState = (typeof FLEET_STATES)[number];

/** What has to be looked at first. */
export const URGENCY: readonly FleetState[] = [
  "cluster-unreachable",
  "silent",
  "not-ready",
  "blocked",
  "pending",
  "revoked",
  "ready",
];

/** How many machines are in each state; those in none of them are left out. */
export type FleetCounts = Partial<Record<FleetState, number>>;

/** What is known of an enrolled machine. Those that wait for an approval have no node object: the registry lists them. */
export interface StandingOfMachine {
  isRevoked: boolean;
  isSilent: boolean;
  /** Of the last answer to it; null: it has had none. */
  phase: Phase | null;
  /** Is the last known Node Ready? */
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

/** A machine that has just enrolled and has not reported yet is not ready. */
export function fleetStateOf({ isRevoked, isSilent, phase, isReady }: StandingOfMachine): FleetState {
  if (isRevoked) return "revoked";
  if (isSilent) return "silent";
  if (phase !== null && phase !== "registered") return STATE_OF_PHASE[phase];
  return phase !== null && isReady ? "ready" : "not-ready";
}

/** The text of a line of history of the kind `state`. */
export function stateChangeText(from: FleetState | null, to: FleetState): string {
  return from === null ? to : `${from} → ${to}`;
}

/** The state that such a line tells of; null: it is another line, or of a newer version. */
export function parseStateChange(text: string): FleetState | null {
  const to = text.split(" → ").at(-1);
  return FLEET_STATES.find((state) => state === to) ?? null;
}
