// Decides the one step that the machine's object takes with a verified and parsed report (execute-report.ts). Pure: what
// the object knows is an argument.
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

/** What the decision depends on, in addition to the report. */
export interface ReportSituation {
  /** Is a machine enrolled, and may its keys still be used? */
  isEnrolled: boolean;
  /** The result of checking the report's ticket and n, and the machine's rate of requests. */
  freshness: Freshness;
  /** The senders that have reported with this key. */
  senders: SeenSenders;
  /** The sender of this report; undefined if its facts, which contain the IDs, are unknown. */
  sender: Sender | undefined;
  /** Are the report's facts stored, or refused before? */
  areFactsKnown: boolean;
  /** Are the sender's IDs known from these facts? The facts of a suspended sender are not stored. */
  areSendersFactsKnown: boolean;
  /** The process whose report was applied last; undefined after an eviction. */
  incumbent: Incumbent | undefined;
  confirmationMs: number;
  nowMs: number;
  leaseMs: number;
}

/** `senders`: after this report. */
export type ReportStep =
  | { kind: "refuse"; reason: "unauthenticated" }
  | { kind: "refuse"; reason: "rate-limited"; senders: SeenSenders }
  /** The machine repeated an earlier request, and gets the earlier answer. */
  | { kind: "answer again"; answer: Promise<MachineAnswer> }
  /** The machine repeats its report at once, under a new ticket. */
  | {
      kind: "challenge";
      reason: "ticket-stale" | "facts-unknown";
      /** Only a second holder of the key waits for this answer. */
      isLate: boolean;
      factsWanted: boolean;
      senders: SeenSenders;
    }
  /** The sender is not trusted. Nothing of the report is stored. */
  | { kind: "suspend"; phase: DuplicatePhase; senders: SeenSenders }
  /** It is in doubt which sender the facts belong to. Nothing of the report is stored before `untilMs`. */
  | { kind: "wait"; untilMs: number; senders: SeenSenders }
  /** The shim could not set up and ends: records an event and a line of history, renews no lease. */
  | { kind: "record setup failure"; setupError: string; senders: SeenSenders }
  /** Has the registry confirm the key, stores the report, and runs a tick. */
  | { kind: "apply"; senders: SeenSenders };

/** Returns the first step that applies, in the order of the table in docs/protocol.md. */
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

/** Returns the senders after this report. Only a fresh report counts as a turn of its sender, or shows a fork. */
function sendersAfter({ freshness, senders, sender, nowMs, leaseMs }: ReportSituation): SeenSenders {
  const isFresh = sender !== undefined && freshness.kind === "fresh";
  const seen = isFresh ? noteSender(senders, sender, nowMs, leaseMs) : currentSenders(senders, nowMs);
  return "isFork" in freshness && freshness.isFork ? noteFork(seen, nowMs) : seen;
}

/** Returns the phase of duplicate senders if this process is not trusted; else undefined. */
function suspendedPhase(senders: SeenSenders, startId: string): DuplicatePhase | undefined {
  return isTrusted(senders, startId) ? undefined : senders.double?.phase;
}

/** Returns until when the report must wait; undefined if it need not, or its sender is unknown. */
function waitOf(report: Report, senders: SeenSenders, situation: ReportSituation): number | undefined {
  const { sender, areFactsKnown, incumbent, confirmationMs, nowMs } = situation;
  if (areFactsKnown || !sender) return undefined;
  const { startId, factsDigest: digest } = report;
  return waitsUntilMs({ startId, digest, senders, incumbent, confirmationMs, nowMs });
}

/** Notes since when facts wait, but only for disputed senders, which cost a row anyway. */
function waiting(senders: SeenSenders, nowMs: number): SeenSenders {
  if (!isDisputed(senders, nowMs) || senders.waitingSinceMs !== undefined) return senders;
  return { ...senders, waitingSinceMs: nowMs };
}

function notWaiting(senders: SeenSenders): SeenSenders {
  const { waitingSinceMs, ...others } = senders;
  return waitingSinceMs === undefined ? senders : others;
}
