// Decides what becomes of a heartbeat: one step, which the gateway executes. Pure: what the gateway knows is an argument.
import type { AgainReason, HeartbeatFrame } from "../../shared/protocol/frames.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { expanded } from "../../shared/quiet/heartbeat-vitals.ts";
import { isQuiet } from "../../shared/quiet/quiet.ts";
import { type HeldOrder, isOver } from "./held-order.ts";

/** However often a machine sends heartbeats: twelve of a minute's requests are for its lease (tick/budgets.ts). */
export const LEAST_RENEWAL_MS = 4500;

/** What was said last to a socket whose heartbeats are taken. Times are milliseconds since 1970. */
export interface BeatSession {
  /** Of the last heartbeat that was fresh. */
  n: number;
  /** Of the last answer: the next heartbeat's MAC is over it. */
  nonce: string;
  answeredMs: number;
  /** When that answer wants the next heartbeat. */
  nextInMs: number;
  held: HeldOrder;
}

export interface BeatSituation {
  /** null: this gateway knows none of this socket. */
  session: BeatSession | null;
  /** Its MAC is right, over the session's nonce. */
  isAuthentic: boolean;
  /** A report of this socket is under way. */
  isReporting: boolean;
  /** Does the apiserver answer, or is it time to see whether it does? */
  mayAsk: boolean;
  nowMs: number;
}

export type BeatStep =
  | { kind: "again"; reason: AgainReason }
  /** It is answered, and counts against the machine; nothing else comes of it. */
  | { kind: "early" }
  /** It is quiet. `due`: the lease is renewed before it is answered; `suspended`: not until the apiserver answers again. */
  | { kind: "take"; vitals: Vitals; skewMs: number; renewal: "due" | "recent" | "suspended" };

/** First match wins. */
export function decideBeat(heartbeat: HeartbeatFrame, situation: BeatSituation): BeatStep {
  const { session, nowMs, mayAsk } = situation;
  if (!session) return again("no session");
  const { held } = session;
  const sinceAnswerMs = nowMs - session.answeredMs;
  const isLate = sinceAnswerMs > held.order.leaseMs;
  if (!situation.isAuthentic || heartbeat.n !== session.n + 1 || isLate) return again("not fresh");
  if (situation.isReporting) return again("over");
  if (isOver(held, nowMs)) return again("over");
  const vitals = expanded(heartbeat, held.order.vitals);
  const skewMs = heartbeat.at - nowMs;
  // A value that flips is said early, and must not be swallowed.
  if (!isQuiet(held.order.quiet, vitals, skewMs)) return again("not quiet");
  if (sinceAnswerMs >= 0 && sinceAnswerMs < session.nextInMs / 2) return { kind: "early" };
  const isTooSoon = held.askedMs !== null && nowMs - held.askedMs < LEAST_RENEWAL_MS;
  return { kind: "take", vitals, skewMs, renewal: isTooSoon ? "recent" : mayAsk ? "due" : "suspended" };
}

const again = (reason: AgainReason): BeatStep => ({ kind: "again", reason });
