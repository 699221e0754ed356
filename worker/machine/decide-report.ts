// Decides the node object's step for a verified and parsed report. Pure; execute-report.ts executes the step.
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
import type { MachineState } from "./machine-state.ts";

/** What the decision depends on, in addition to the report. */
export interface ReportSituation {
  /** true if a machine is enrolled and its keys are not revoked. */
  isEnrolled: boolean;
  /** The result of checking the report's ticket, its number (n), and the machine's rate of requests. */
  freshness: Freshness;
  /** The senders that have reported with the machine's key so far. */
  senders: SeenSenders;
  /** The sender of this report; undefined if the node object lacks the facts, which contain the sender's IDs. */
  sender: Sender | undefined;
  /** true if the report's facts are stored, or were refused before. */
  areFactsKnown: boolean;
  /** true if the sender's IDs are known from the facts, even for a suspended sender, whose facts are not stored. */
  areSendersFactsKnown: boolean;
  /** The shim's process whose report was applied last; undefined after an eviction. */
  incumbent: Incumbent | undefined;
  confirmationMs: number;
  nowMs: number;
  leaseMs: number;
}

interface Arrival extends Pick<ReportSituation, "isEnrolled" | "freshness" | "nowMs"> {
  report: Report;
  /** The network address that the report came from. */
  address: string;
}

/** Returns what the decision about a report depends on. */
export function situationOf(
  { facts, senders }: Pick<MachineState, "facts" | "senders">,
  { report, address, ...arrival }: Arrival,
): ReportSituation {
  const { factsDigest } = report;
  return {
    ...arrival,
    senders: senders.seen,
    sender: senders.senderOf(report, address),
    areFactsKnown: facts.has(factsDigest),
    areSendersFactsKnown: senders.knowsFacts(factsDigest),
    incumbent: facts.incumbent,
    confirmationMs: facts.confirmationMs(),
    leaseMs: facts.leaseMs(),
  };
}

/** A step that the node object can take with a report. `senders`: the senders after this report. */
export type ReportStep =
  | { kind: "refuse"; reason: "unauthenticated" }
  | { kind: "refuse"; reason: "rate-limited"; senders: SeenSenders }
  /** The machine repeated an earlier request, and gets the answer to that request again. */
  | { kind: "answer again"; answer: Promise<MachineAnswer> }
  /** The machine must repeat its report at once, under a new ticket. */
  | {
      kind: "challenge";
      reason: "ticket-stale" | "facts-unknown";
      /** true if only a second holder of the machine's key can be waiting for this answer. */
      isLate: boolean;
      factsWanted: boolean;
      senders: SeenSenders;
    }
  /** The sender is not trusted, so the node object stores nothing of the report. */
  | { kind: "suspend"; phase: DuplicatePhase; senders: SeenSenders }
  /** The node object doubts which sender the facts belong to, and stores nothing of the report before `untilMs`. */
  | { kind: "wait"; untilMs: number; senders: SeenSenders }
  /** The shim could not set up and ends. The node object records that, and does not renew the lease. */
  | { kind: "record setup failure"; setupError: string; senders: SeenSenders }
  /** The node object has the registry confirm the key, stores the report, and runs a tick. */
  | { kind: "apply"; senders: SeenSenders };

/** Returns the first matching step, in the order of the table in docs/protocol.md. */
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

/** Returns the phase of duplicate senders if the process with this startId is not trusted; else undefined. */
function suspendedPhase(senders: SeenSenders, startId: string): DuplicatePhase | undefined {
  return isTrusted(senders, startId) ? undefined : senders.double?.phase;
}

/** Returns when the report may be applied; undefined if at once, or if its sender is unknown. */
function waitOf(report: Report, senders: SeenSenders, situation: ReportSituation): number | undefined {
  const { sender, areFactsKnown, incumbent, confirmationMs, nowMs } = situation;
  if (areFactsKnown || !sender) return undefined;
  const { startId, factsDigest: digest } = report;
  return waitsUntilMs({ startId, digest, senders, incumbent, confirmationMs, nowMs });
}

/** If the senders are disputed, adds the time since when facts wait. Disputed senders cost a stored row anyway. */
function waiting(senders: SeenSenders, nowMs: number): SeenSenders {
  if (!isDisputed(senders, nowMs) || senders.waitingSinceMs !== undefined) return senders;
  return { ...senders, waitingSinceMs: nowMs };
}

function notWaiting(senders: SeenSenders): SeenSenders {
  const { waitingSinceMs, ...others } = senders;
  return waitingSinceMs === undefined ? senders : others;
}
