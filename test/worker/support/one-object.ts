// Runs three parts of a node object together: fresh requests, decisions on reports, and changed facts. Needs no storage
// and no network. Simulates the processes that have the machine's key, and any fault of the network.
import { NO_SENDERS } from "../../../shared/node/duplicate-senders.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { type Incumbent, incumbentAfter } from "../../../worker/machine/known-facts.ts";
import { decideReport, type ReportStep } from "../../../worker/machine/decide-report.ts";
import { offerTicket, type Tickets, useTicket } from "../../../worker/machine/fresh-requests.ts";

export const LEASE_MS = 40_000;
export const CONFIRMATION_MS = 11_000;

/** The content of a signed report. The simulation omits the signature. */
export interface Signed {
  ticket: string;
  n: number;
  startId: string;
  bootID: string;
  /** The digest of the report's facts. */
  digest: string;
  /** A text that differs in any two reports. */
  body: string;
}

export interface Answer {
  isChallenge: boolean;
  ticket: string;
}

/** The part of a node object that decides on reports. */
export class OneObject {
  nowMs = 0;
  senders = NO_SENDERS;
  /** The digest of the stored facts. */
  facts = "";
  steps: ReportStep["kind"][] = [];
  #tickets: Tickets<Answer> = {};
  #incumbent: Incumbent | undefined;
  #nonces = 0;

  handle(signed: Signed): Answer {
    const { ticket, n, body, startId, bootID, digest } = signed;
    const freshness = useTicket(this.#tickets, { ticket, n, body, process: startId }, this.nowMs, LEASE_MS);
    if (freshness.kind === "repeated") return freshness.answer;
    const report: Report = {
      protocol: 1,
      startId,
      machineTime: "2026-01-02T03:04:05Z",
      vitals: { signals: {} },
      factsDigest: digest,
      facts: {},
    };
    const step = decideReport(report, {
      isEnrolled: true,
      freshness: freshness.kind === "stale" ? freshness : { ...freshness, remember: () => undefined },
      senders: this.senders,
      sender: { machineID: "m", bootID, startId },
      areFactsKnown: digest === this.facts,
      areSendersFactsKnown: true,
      incumbent: this.#incumbent,
      confirmationMs: CONFIRMATION_MS,
      nowMs: this.nowMs,
      leaseMs: LEASE_MS,
    });
    if (!("senders" in step)) throw new Error(step.kind);
    this.senders = step.senders;
    this.steps.push(step.kind);
    if (step.kind === "apply") this.#apply(report);
    const isLate = step.kind === "challenge" && step.isLate;
    const nonce = () => `ticket ${++this.#nonces}`;
    const answer = {
      isChallenge: step.kind === "challenge",
      ticket: offerTicket(this.#tickets, this.nowMs, LEASE_MS, nonce, isLate),
    };
    if (freshness.kind === "fresh") freshness.remember(answer);
    return answer;
  }

  #apply(report: Report): void {
    const moment = { confirmationMs: CONFIRMATION_MS, nowMs: this.nowMs };
    this.#incumbent = incumbentAfter(this.#incumbent, report, this.facts || undefined, moment);
    this.facts = report.factsDigest;
  }

  /** Simulates an eviction, after which only the data in SQLite remains. */
  evict(): void {
    this.#tickets = {};
    this.#incumbent = undefined;
    this.senders = JSON.parse(JSON.stringify(this.senders)) as typeof this.senders;
  }
}

/**
 * The network's effect on one request: whether and when the node object gets it, and whether its answer arrives.
 */
export type Delivery = "whole" | "twice" | "request lost" | "answer lost" | "request late";

/**
 * A process of the shim that reports like node-shim/worker-link/reporter.ts. A copied process begins with the same
 * `ticket` and `n`.
 */
export class Holder {
  readonly startId: string;
  readonly bootID: string;
  ticket: string;
  n: number;

  constructor(startId: string, bootID: string, ticket = "", n = 0) {
    this.startId = startId;
    this.bootID = bootID;
    this.ticket = ticket;
    this.n = n;
  }

  /**
   * Sends a report in up to three attempts, each with a delivery of its own. Adds each request to `sent`, and
   * requests that arrive later to `late`.
   */
  report(
    object: OneObject,
    digest: string,
    deliveries: readonly Delivery[],
    sent: Signed[],
    late: Signed[],
  ): void {
    for (let attempt = 0; attempt < 3; attempt++) {
      const answer = this.#post(object, digest, deliveries[attempt] ?? "whole", sent, late);
      if (!answer) return;
      if (answer.ticket !== this.ticket) [this.ticket, this.n] = [answer.ticket, 0];
      if (!answer.isChallenge) return;
    }
  }

  #post(
    object: OneObject,
    digest: string,
    delivery: Delivery,
    sent: Signed[],
    late: Signed[],
  ): Answer | undefined {
    const { startId, bootID, ticket } = this;
    const signed = { ticket, n: ++this.n, startId, bootID, digest, body: `body ${sent.length}` };
    sent.push(signed);
    if (delivery === "request late") late.push(signed);
    if (delivery === "request late" || delivery === "request lost") return undefined;
    const answer = object.handle(signed);
    if (delivery === "answer lost") return undefined;
    return delivery === "twice" ? object.handle(signed) : answer;
  }
}
