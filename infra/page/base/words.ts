// Names states in words, and ends sentences.
import type { FleetState } from "../../../shared/fleet/state.ts";

const WORDS: Readonly<Record<FleetState, string>> = {
  ready: "Ready",
  "not-ready": "Not ready",
  silent: "Not reporting",
  "cluster-unreachable": "Cluster unreachable",
  blocked: "Blocked",
  pending: "Pending",
  revoked: "Revoked",
};

/** Returns the words of a state. The state of a newer Worker stays as it is. */
export const stateText = (state: string): string =>
  (WORDS as Record<string, string | undefined>)[state] ?? state;

/** Returns the text with a full stop, unless the text ends a sentence already. */
export const sentenceOf = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
