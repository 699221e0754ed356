// When what becomes of a machine is told, and when a letter that did not arrive is sent again. Stores nothing.
import type { AlertState } from "../../shared/fleet/alert.ts";
import type { FleetState } from "../../shared/fleet/state.ts";
import { ALERT_STATES } from "../../shared/protocol/receiver-api.ts";

/** What a receiver is to be told of a machine, and has been told. */
export interface Watched {
  /** What is to be told; null: it is well, or does not concern this receiver any more. */
  state: AlertState | null;
  /** Since when that is so. */
  sinceMs: number;
  /** What it was told; null: nothing, or that it is over. */
  told: AlertState | null;
  /** When `state` is told; null: it is, or no letter is to come of it. */
  dueMs: number | null;
}

/** So long after it is over that is told, so that machines that come back together are told together. */
export const SETTLE_MS = 5000;

/**
 * After a machine came into a state. A machine that goes from one state into another one before the first was told is told
 * no later for that. What was told stays told until the next state is, or until it is well. null: there is nothing to
 * remember.
 */
export function watchedAfter(
  known: Watched | null,
  { state, sinceMs }: { state: AlertState | null; sinceMs: number },
  { delayMs, nowMs }: { delayMs: number; nowMs: number },
): Watched | null {
  const told = known?.told ?? null;
  if (state === told) return told === null ? null : { state, sinceMs, told, dueMs: null };
  if (state === null) return { state, sinceMs, told, dueMs: nowMs + SETTLE_MS };
  if (known?.state === state) return known;
  const dueMs = Math.max(sinceMs + delayMs, nowMs);
  const isWaiting = told === null && known !== null && known.dueMs !== null;
  return { state, sinceMs, told, dueMs: isWaiting ? Math.min(known.dueMs!, dueMs) : dueMs };
}

/** null: it is a state that nobody is told of. */
export function alertState(state: FleetState): AlertState | null {
  return ALERT_STATES.find((each) => each === state) ?? null;
}

const LEAST_WAIT_MS = 30_000;
const MOST_WAIT_MS = 3_600_000;
/** In all: then a letter is dead. */
export const GIVEN_UP_MS = 24 * 3_600_000;

/**
 * How long to wait after so many failed attempts (1, 2, …): 30 s, doubled to an hour, up to a quarter more so that
 * receivers do not move in step; at least as long as the answer's Retry-After asks for.
 */
export function waitMs(failed: number, askedMs: number, random: () => number): number {
  const doubled = Math.min(MOST_WAIT_MS, LEAST_WAIT_MS * 2 ** Math.min(failed - 1, 10));
  return Math.round(Math.max(Math.min(askedMs, GIVEN_UP_MS), doubled * (1 + random() / 4)));
}

/** A Retry-After in seconds or as a date (RFC 9110, 10.2.3). 0: it asks for nothing. */
export function retryAfterMs(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  return Math.max(0, Date.parse(text) - nowMs) || 0;
}

/** The receiver does not take this letter, whenever it comes: others behind it must not wait. */
export function isRefusedForGood(status: number): boolean {
  return [400, 413, 415, 422].includes(status);
}
