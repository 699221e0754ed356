// Decides what becomes of a verified and parsed report: one step, which the machine's object executes. Pure: what the
// object knows is an argument, so that every transport decides the same.
import {
  currentSenders,
  type DuplicatePhase,
  isDisputed,
  isTrusted,
  noteFork,
  noteSender,
  type SeenSenders,
  type Sender,
} from "../../shared/node/duplicate-senders.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { MachineAnswer } from "./answers.ts";
import { type Incumbent, waitsUntilMs } from "./known-facts.ts";
import type { Freshness } from "./fresh-requests.ts";

/** What the decision depends on, besides the report. */
export interface ReportSituation {
  /** Is a machine enrolled, and may its keys still be used? */
  isEnrolled: boolean;
  /** The result of checking the report's ticket and n, and the machine's rate of requests. */
  freshness: Freshness;
  /** Who has reported with this key. */
  senders: SeenSenders;
  /** Who sent this report; undefined where its facts, which have the IDs, are not known. */
  sender: Sender | undefined;
  /** Are the report's facts stored, or known to be refused? */
  areFactsKnown: boolean;
  /** Is it known which sender has these facts? A suspended sender's are not stored. */
  areSendersFactsKnown: boolean;
  /** Whose report was applied last; undefined after an eviction. */
  incumbent: Incumbent | undefined;
  confirmationMs: number;
  nowMs: number;
  leaseMs: number;
}

/** `senders`: as they are after this report. */
export type ReportStep =
  | { kind: "refuse"; reason: "unauthenticated" }
  | { kind: "refuse"; reason: "rate-limited"; senders: SeenSenders }
  /** The same request again: it gets the same answer. */
  | { kind: "answer again"; answer: Promise<MachineAnswer> }
  /** Nothing is applied; the machine repeats at once, under a new ticket. */
  | {
      kind: "challenge";
      reason: "ticket-stale" | "facts-unknown";
      /** Nobody but a second holder of the key waits for this answer. */
      isLate: boolean;
      factsWanted: boolean;
      senders: SeenSenders;
    }
  /** The sender is not trusted: nothing of the report is stored or acted on. */
  | { kind: "suspend"; phase: DuplicatePhase; senders: SeenSenders }
  /** It is in doubt whose facts these are: nothing of the report is stored or acted on until then. */
  | { kind: "wait"; untilMs: number; senders: SeenSenders }
  /** The shim could not set up and ends: an event and a line of history, no heartbeat. */
  | { kind: "record setup failure"; setupError: string; senders: SeenSenders }
  /** The registry confirms the key, the report is stored, and a tick runs. */
  | { kind: "apply"; senders: SeenSenders };

/** First match wins, as in the table of docs/protocol.md. */
export function decideReport(report: Report, situation: ReportSituation): ReportStep {
  const { freshness } = situation;
  if (!situation.isEnrolled) return { kind: "refuse", reason: "unauthenticated" };
  if (freshness.kind === "repeated") return { kind: "answer again", answer: freshness.answer };
  const senders = sendersAfter(situation);
  if (freshness.kind === "too often") return { kind: "refuse", reason: "rate-limited", senders };
  const suspended = suspendedPhase(senders, report.startId);
  const factsWanted = suspended === undefined ? !situation.areFactsKnown : !situation.areSendersFactsKnown;
  if (freshness.kind !== "fresh") {
    const { isLate } = freshness;
    return { kind: "challenge", reason: "ticket-stale", isLate, factsWanted, senders };
  }
  if (suspended !== undefined && situation.sender) return { kind: "suspend", phase: suspended, senders };
  const { setupError } = report.vitals;
  if (setupError !== undefined && suspended === undefined)
    return { kind: "record setup failure", setupError, senders };
  const untilMs = waitOf(report, senders, situation);
  if (untilMs !== undefined) return { kind: "wait", untilMs, senders: waiting(senders, situation.nowMs) };
  if (report.facts === undefined && factsWanted)
    return { kind: "challenge", reason: "facts-unknown", isLate: false, factsWanted, senders };
  return { kind: "apply", senders: situation.areFactsKnown ? senders : notWaiting(senders) };
}

/** Only a fresh report is a turn, or shows a fork; a stale one shows nothing. */
function sendersAfter({ freshness, senders, sender, nowMs, leaseMs }: ReportSituation): SeenSenders {
  const isFresh = sender !== undefined && freshness.kind === "fresh";
  const seen = isFresh ? noteSender(senders, sender, nowMs, leaseMs) : currentSenders(senders, nowMs);
  return "isFork" in freshness && freshness.isFork ? noteFork(seen, nowMs) : seen;
}

/** Why the reports of this process do not count; undefined: they do. */
function suspendedPhase(senders: SeenSenders, startId: string): DuplicatePhase | undefined {
  return isTrusted(senders, startId) ? undefined : senders.double?.phase;
}

/** Until when the report has to wait; undefined: it has not. Who sent it has to be known, for the turns. */
function waitOf(report: Report, senders: SeenSenders, situation: ReportSituation): number | undefined {
  const { sender, areFactsKnown, incumbent, confirmationMs, nowMs } = situation;
  if (areFactsKnown || !sender) return undefined;
  const { startId, factsDigest: digest } = report;
  return waitsUntilMs({ startId, digest, senders, incumbent, confirmationMs, nowMs });
}

/** Stored where there is a sign of several senders, which costs a row anyway. */
function waiting(senders: SeenSenders, nowMs: number): SeenSenders {
  if (!isDisputed(senders, nowMs) || senders.waitingSinceMs !== undefined) return senders;
  return { ...senders, waitingSinceMs: nowMs };
}

function notWaiting(senders: SeenSenders): SeenSenders {
  const { waitingSinceMs, ...others } = senders;
  return waitingSinceMs === undefined ? senders : others;
}
