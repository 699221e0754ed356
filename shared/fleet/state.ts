// Decides the state of a machine. API, command line, feed and metrics use the same words; the page has words for people.
import type { Phase } from "../protocol/answers.ts";

export const FLEET_STATES = [
  /** The Node is registered and Ready, and its lease is renewed. */
  "ready",
  /**
   * The Node is registered, or about to be. The machine reports, and Ready is False or Unknown. A machine that is not
   * ready by its own report is `not-ready` even if the Worker cannot write to the apiserver.
   */
  "not-ready",
  /** No report arrived for a lease duration, although the Worker and the apiserver work. */
  "silent",
  /** The machine reports, but the Worker cannot write to the apiserver. */
  "cluster-unreachable",
  /** The Worker writes nothing until an operator acts. The phase names the reason. */
  "blocked",
  /** The machine waits for an operator's approval. */
  "pending",
  /** The Worker refuses the machine's key. */
  "revoked",
] as const;
export type FleetState = (typeof FLEET_STATES)[number];

/** The states in order of urgency, the most urgent first. */
export const URGENCY: readonly FleetState[] = [
  "cluster-unreachable",
  "silent",
  "not-ready",
  "blocked",
  "pending",
  "revoked",
  "ready",
];

/** The number of machines in each state; a state without machines is absent. */
export type FleetCounts = Partial<Record<FleetState, number>>;

/** The knowledge about an enrolled machine that decides its state. The registry lists pending machines instead. */
export interface StandingOfMachine {
  isRevoked: boolean;
  isSilent: boolean;
  /** The phase of the last answer to the machine; null until the first answer. */
  phase: Phase | null;
  /** true if the Node was Ready when the Worker last knew it. */
  isReady: boolean;
  /** true if the machine is not ready by its last report. */
  hasFault: boolean;
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

/** Reports whether the Worker could not write to the apiserver in this phase. */
export function isClusterAway(phase: string | null): boolean {
  const states: Readonly<Record<string, FleetState>> = STATE_OF_PHASE;
  return phase !== null && states[phase] === "cluster-unreachable";
}

/** Returns the machine's state. A machine that has enrolled but not reported yet is `not-ready`. */
export function fleetStateOf(machine: StandingOfMachine): FleetState {
  const { isRevoked, isSilent, phase, isReady, hasFault } = machine;
  if (isRevoked) return "revoked";
  if (isSilent) return "silent";
  if (hasFault && isClusterAway(phase)) return "not-ready";
  if (phase !== null && phase !== "registered") return STATE_OF_PHASE[phase];
  return phase !== null && isReady ? "ready" : "not-ready";
}

/** Writes the history's line about a change of state, of the kind `state`. */
export function stateChangeText(from: FleetState | null, to: FleetState): string {
  return from === null ? to : `${from} → ${to}`;
}

/** Returns the new state in a line of stateChangeText; null for any other line, or a state of a newer version. */
export function parseStateChange(text: string): FleetState | null {
  const to = text.split(" → ").at(-1);
  return FLEET_STATES.find((state) => state === to) ?? null;
}

/** Returns the former state in a line of stateChangeText; null for a machine's first line and for any other line. */
export function parseStateBefore(text: string): FleetState | null {
  const [from, ...to] = text.split(" → ");
  return to.length === 0 ? null : (FLEET_STATES.find((state) => state === from) ?? null);
}

const WORDS: Readonly<Record<FleetState, string>> = {
  ready: "Ready",
  "not-ready": "Not ready",
  silent: "Not reporting",
  "cluster-unreachable": "Cluster unreachable",
  blocked: "Blocked",
  pending: "Pending",
  revoked: "Revoked",
};

/** Returns the words of a state for people. The state of a newer Worker stays as it is. */
export const stateText = (state: string): string =>
  (WORDS as Record<string, string | undefined>)[state] ?? state;
