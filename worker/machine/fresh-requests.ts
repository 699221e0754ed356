// Decides which requests of one machine are acted on: those with a fresh ticket, within the machine's rate. All of it is in
// memory: after an eviction the object knows no ticket and challenges the machine.
//
// Each answer has a random ticket, and requests under one ticket count up. Tickets also show a second holder of the key. A
// process sends one request at a time, under the ticket of the last answer that it read. Once it has used a ticket, it
// waits for no request under an earlier one: such a request is late. The network may delay a late request, but then no
// process uses the ticket in its answer. If one does, the process runs in two places (a fork).
import { type TokenBucket, tryAccept } from "../../shared/events/token-bucket.ts";
import { failure } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import type { MachineAnswer } from "./answers.ts";

interface RequestLimit {
  atOnce: number;
  perSecond: number;
}

/**
 * A shim that waits for its first Ready reports at most every 100 ms (the kubelet's fastNodeStatusUpdate); a steady one
 * once a second at most, its flips apart.
 */
export const REQUEST_LIMIT = { atOnce: 100, perSecond: 10 } as const;
/** After this time the machine may send some requests again. */
const RETRY_AFTER_SECONDS = 1;

/** Returns a function that takes one request from a token bucket; false if the bucket is empty. */
export function requestRate({ atOnce, perSecond }: RequestLimit = REQUEST_LIMIT): (nowMs: number) => boolean {
  let bucket: TokenBucket | undefined;
  return (nowMs) => {
    const taken = tryAccept(bucket, nowMs * 1000, atOnce, perSecond);
    bucket = taken ?? bucket;
    return taken !== null;
  };
}

export type Freshness =
  | TicketCheck<Promise<MachineAnswer>>
  /** Fresh, but the bucket is empty. The refusal is remembered under the ticket like any answer. */
  | { kind: "too often"; isFork: boolean; remember: (answer: Promise<MachineAnswer>) => void };

export const RATE_LIMITED = failure({
  reason: "rate-limited" as const,
  retryAfterSeconds: RETRY_AFTER_SECONDS,
});

export class FreshRequests {
  readonly #leaseMs: () => number;
  readonly #mayAsk = requestRate();
  #tickets: Tickets<Promise<MachineAnswer>> = {};

  /** `leaseMs`: how long a ticket is valid. */
  constructor(leaseMs: () => number) {
    this.#leaseMs = leaseMs;
  }

  /** Uses the request's ticket and, if it is fresh, a token of the bucket. Only signed requests can use up the bucket. */
  use(use: TicketUse): Freshness {
    const checked = useTicket(this.#tickets, use, currentMs(), this.#leaseMs());
    if (checked.kind !== "fresh" || this.#mayAsk(currentMs())) return checked;
    return { ...checked, kind: "too often" };
  }

  /** Acts once on a fresh request. Any other request gets the earlier answer, a challenge or a refusal. */
  answerOnce(use: TicketUse, act: () => Promise<MachineAnswer>): Promise<MachineAnswer> {
    const freshness = this.use(use);
    if (freshness.kind === "repeated") return freshness.answer;
    if (freshness.kind === "stale")
      return Promise.resolve(failure({ reason: "ticket-stale", ticket: this.offerTicket() }));
    const answer = freshness.kind === "fresh" ? act() : Promise.resolve(RATE_LIMITED);
    freshness.remember(answer);
    return answer;
  }

  /** `isLate`: for the answer to a late request. */
  offerTicket(isLate = false): string {
    return offerTicket(this.#tickets, currentMs(), this.#leaseMs(), randomNonce, isLate);
  }

  /** Returns the tickets for a loan, without answers: a repeated request is challenged afterwards. */
  handOver(): Tickets<never> {
    const { used, offered, contested, process } = this.#tickets;
    const bare = (whole: Ticket<unknown>): Ticket<never> => {
      const { answer: _, ...ticket } = whole;
      return ticket;
    };
    return {
      ...(used && { used: bare(used) }),
      ...(offered && { offered: offered.map(bare) }),
      ...(contested && { contested: bare(contested) }),
      ...(process !== undefined && { process }),
    };
  }

  /** Restores the tickets from a loan. `heardMs`: when the last heartbeat came, before which the machine read the answer. */
  takeBack(tickets: Tickets<never>, heardMs: number | undefined): void {
    this.#tickets = heardMs === undefined ? tickets : usedUntil(tickets, heardMs);
  }

  /** Call it when another machine has the name. */
  forget(): void {
    this.#tickets = {};
  }
}

interface Ticket<Answer> {
  nonce: string;
  issuedAtMs: number;
  /** The number of the last request under it; 0 if unused. */
  n: number;
  body: string;
  /** Digest of the process that uses it. No other process may. */
  process?: string | undefined;
  answer?: Answer;
}

export interface Tickets<Answer> {
  /** The last used ticket. It stays valid until another one is used, since its answer may be lost. */
  used?: Ticket<Answer>;
  /** Offered after `used`, and unused; oldest first. */
  offered?: Ticket<Answer>[];
  /** The ticket that answers to late requests contain. */
  contested?: Ticket<Answer>;
  /** The process that used a ticket last. */
  process?: string;
}

export interface TicketUse {
  ticket: string;
  n: number;
  /** Digest of the request's body. */
  body: string;
  /** Digest of the startId; absent if the request is not from the shim's loop. */
  process?: string;
}

type TicketCheck<Answer> =
  /** `isLate`: the process has used a later ticket. Only a second holder of the key waits for the answer. */
  | { kind: "stale"; isLate: boolean }
  /** The answer to the same request before. */
  | { kind: "repeated"; answer: Answer }
  /**
   * The ticket has advanced: no request that was signed before can follow. Call `remember` in the same turn. `isFork`:
   * the ticket was the answer to a late request, so that the process runs in two places.
   */
  | { kind: "fresh"; isFork: boolean; remember: (answer: Answer) => void };

/** More unused tickets than the answers of a lease duration contain, so that the oldest have expired. */
const MAX_OFFERED = 4;

/** Compares and advances in one synchronous step. A ticket is valid for `lifetimeMs` (one lease duration). */
export function useTicket<Answer>(
  tickets: Tickets<Answer>,
  use: TicketUse,
  nowMs: number,
  lifetimeMs: number,
): TicketCheck<Answer> {
  const { used, offered = [], contested } = tickets;
  const ticket = [used, ...offered, contested].find((known) => known?.nonce === use.ticket);
  const isValid = ticket !== undefined && nowMs - ticket.issuedAtMs <= lifetimeMs;
  if (isValid && use.n === ticket.n && use.body === ticket.body && ticket.answer !== undefined)
    return { kind: "repeated", answer: ticket.answer };
  const isSpent =
    ticket !== undefined && (use.n <= ticket.n || (ticket.n > 0 && use.process !== ticket.process));
  if (isValid && !isSpent) {
    advance(tickets, ticket, use);
    return {
      kind: "fresh",
      isFork: ticket === contested,
      remember: (answer) => void (ticket.answer = answer),
    };
  }
  // A ticket that expired unused shows no second holder, since the machine was silent.
  const isSuperseded = ticket === undefined || ticket === contested || isSpent;
  const isOfLastProcess = use.process !== undefined && use.process === tickets.process;
  return { kind: "stale", isLate: isSuperseded && isOfLastProcess };
}

function advance<Answer>(tickets: Tickets<Answer>, ticket: Ticket<Answer>, use: TicketUse): void {
  ticket.n = use.n;
  ticket.body = use.body;
  ticket.process = use.process;
  delete ticket.answer;
  if (use.process !== undefined) tickets.process = use.process;
  if (ticket === tickets.used) return;
  const offered = tickets.offered ?? [];
  // Earlier tickets are of no use any more.
  tickets.offered = ticket === tickets.contested ? [] : offered.slice(offered.indexOf(ticket) + 1);
  if (ticket === tickets.contested) delete tickets.contested;
  tickets.used = ticket;
}

/**
 * Returns the nonce for an answer. An unused ticket is offered again during half its lifetime, so that replayed requests
 * cannot replace the machine's own ticket. `isLate`: for the answer to a late request.
 */
export function offerTicket<Answer>(
  tickets: Tickets<Answer>,
  nowMs: number,
  lifetimeMs: number,
  randomNonce: () => string,
  isLate = false,
): string {
  const last = isLate ? tickets.contested : tickets.offered?.at(-1);
  if (last && nowMs - last.issuedAtMs < lifetimeMs / 2) return last.nonce;
  const made: Ticket<Answer> = { nonce: randomNonce(), issuedAtMs: nowMs, n: 0, body: "" };
  if (isLate) tickets.contested = made;
  else offer(tickets, made);
  return made.nonce;
}

function offer<Answer>(tickets: Tickets<Answer>, made: Ticket<Answer>): void {
  const offered = [...(tickets.offered ?? []), made];
  tickets.offered = offered;
  if (offered.length <= MAX_OFFERED) return;
  // A client collects tickets and uses none. A request under a forgotten ticket must not count as late.
  tickets.offered = offered.slice(-2);
  delete tickets.used;
  delete tickets.process;
}

/** Restarts the lifetime of the last offered ticket, since heartbeats show that the machine had it at `atMs`. */
function usedUntil(tickets: Tickets<never>, atMs: number): Tickets<never> {
  const { offered = [] } = tickets;
  const last = offered.at(-1);
  if (!last) return tickets;
  return {
    ...tickets,
    offered: [...offered.slice(0, -1), { ...last, issuedAtMs: Math.max(last.issuedAtMs, atMs) }],
  };
}
