// Which way a machine's reports go, and when it opens a socket: decided from what has happened, by the clock and the
// randomness of its arguments. Opens nothing.
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import { GATEWAY_LIMITS } from "../../shared/protocol/limits.ts";

export interface LinkState {
  /** "opening": from the upgrade on. "open": it is there. "accepted": a report was accepted on it. */
  socket: "none" | "opening" | "open" | "accepted";
  /** Since when it is open, and when it had its last answer. */
  openedAtMs: number;
  answeredAtMs: number;
  /** Where and when to open one; null: nowhere yet. */
  due: Due | null;
  /** None is opened before. */
  notBeforeMs: number;
  /** How many have failed in a row. */
  failures: number;
  /** Why there is none; null: nothing is wrong. */
  fault: string | null;
  /** What the gateway said last; null: no socket was tried yet. */
  comeBackWithinMs: number | null;
}

interface Due {
  path: string;
  offeredAtMs: number;
  atMs: number;
}

/** Why a socket is no more, or did not come to be. */
export interface SocketLoss {
  why: string;
  /** What the Worker has asked for; 0: nothing. */
  comeBackInMs: number;
  /** Nothing is wrong: it is no failure. */
  isPlanned: boolean;
}

export const NO_SOCKET: LinkState = {
  socket: "none",
  openedAtMs: 0,
  answeredAtMs: 0,
  due: null,
  notBeforeMs: 0,
  failures: 0,
  fault: null,
  comeBackWithinMs: null,
};

/** After a loss, sockets are opened within this at least, so that many machines do not come at once. */
const LEAST_WINDOW_MS = GATEWAY_LIMITS.comeBackMs;
/** The path's ticket has to last until the upgrade is through. */
const TICKET_MS = (GATEWAY_LIMITS.ticketSeconds - 20) * 1000;
/**
 * A socket that has served for less counts as a failure: what cuts it would cut each that follows. One that is cut while nothing
 * is said on it has served until its last answer.
 */
const LASTING_MS = 60_000;
const AWAY_MS = GATEWAY_LIMITS.awaySeconds * 1000;
/** Of AWAY_MS: so much more, at random. */
const AWAY_JITTER = 0.5;

/** Is the Worker asked for one with the next report? */
export function isSocketWanted({ socket, notBeforeMs }: LinkState, nowMs: number): boolean {
  return socket === "none" && nowMs >= notBeforeMs;
}

/** A report by HTTP was answered. `random`: typically Math.random(). */
export function afterOffer(
  state: LinkState,
  offer: ReportAnswer["socket"],
  nowMs: number,
  random: number,
): LinkState {
  if (!isSocketWanted(state, nowMs)) return state;
  if (offer === undefined) return { ...state, due: null };
  const { path, withinMs } = offer;
  const { comeBackWithinMs } = state;
  const windowMs =
    comeBackWithinMs === null ? withinMs : Math.max(LEAST_WINDOW_MS, withinMs, comeBackWithinMs);
  const atMs = state.due?.atMs ?? nowMs + random * Math.min(windowMs, TICKET_MS);
  return { ...state, due: { path, offeredAtMs: nowMs, atMs } };
}

/** The time to open one has come; without `due` where the offer was for sooner, as after a suspend. */
export function whenDue(state: LinkState, nowMs: number): LinkState {
  const { due, comeBackWithinMs } = state;
  if (due === null || state.socket !== "none") return state;
  if (nowMs - due.offeredAtMs > TICKET_MS) return { ...state, due: null };
  return { ...state, socket: "opening", due: null, comeBackWithinMs: comeBackWithinMs ?? 0 };
}

export function afterOpening(state: LinkState, nowMs: number): LinkState {
  return { ...state, socket: "open", openedAtMs: nowMs, answeredAtMs: nowMs };
}

/** A report or a heartbeat was answered over it. */
export function afterAnswer(state: LinkState, nowMs: number): LinkState {
  return { ...state, answeredAtMs: nowMs };
}

/** A report was accepted over it. */
export function afterAcceptance(state: LinkState, comeBackWithinMs: number): LinkState {
  return { ...state, socket: "accepted", fault: null, comeBackWithinMs };
}

/** It was refused, or is over. */
export function afterLoss(
  state: LinkState,
  { why, comeBackInMs, isPlanned }: SocketLoss,
  nowMs: number,
  random: number,
): LinkState {
  const isLasting = state.socket === "accepted" && state.answeredAtMs - state.openedAtMs >= LASTING_MS;
  const before = isLasting ? 0 : state.failures;
  const failures = isLasting || isPlanned ? before : before + 1;
  const isGivenUp = !isPlanned && failures >= GATEWAY_LIMITS.failures;
  const awayMs = isGivenUp ? AWAY_MS * (1 + random * AWAY_JITTER) : 0;
  return {
    ...state,
    socket: "none",
    due: null,
    notBeforeMs: nowMs + Math.max(comeBackInMs, awayMs),
    failures,
    fault: why,
  };
}

/** This machine has dropped its connections, since they may be stuck: nobody's failure. */
export function afterDrop(state: LinkState): LinkState {
  return { ...state, socket: "none", due: null };
}
