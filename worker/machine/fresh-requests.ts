// Decides which of a machine's requests the node object acts on: those with a fresh ticket, within the machine's rate.
// All state is in memory: after an eviction the node object knows no ticket, and challenges the machine.
//
// Each answer has a random ticket, and requests under one ticket are numbered upwards. A process of the shim sends one
// request at a time, under the ticket of the last answer that it read. Once a process has used a ticket, it waits no
// longer for a request under an earlier ticket: such a request is late. The network may delay a late request, but then
// no process uses the ticket in its answer. If a process uses that ticket, the process runs in two places (a fork).
import { failure } from "../../shared/result.ts";
import { currentMs } from "../clock.ts";
import { randomNonce } from "../identity/mac-keys.ts";
import { RATE_LIMITS, type RateLimit, take, type TokenBucket } from "../storage/token-bucket.ts";
import type { MachineAnswer } from "./answers.ts";

/** The Retry-After, in seconds, of a machine whose token bucket is empty: until the bucket has a token again. */
const RETRY_AFTER_SECONDS = RATE_LIMITS.requests.everyMs / 1000;

/** Returns the limit of a machine's requests: two for each report interval, of which a lease has at least four. */
export function requestLimit(leaseMs: number): RateLimit {
  const { atOnce, everyMs } = RATE_LIMITS.requests;
  return { atOnce, everyMs: Math.min(everyMs, leaseMs / 8) };
}

/** Returns a function that takes one request from a token bucket, and returns false if the bucket is empty. */
export function requestRate(limit: () => RateLimit): (nowMs: number) => boolean {
  let bucket: TokenBucket | undefined;
  return (nowMs) => {
    const taken = take(bucket, limit(), nowMs);
    bucket = taken.bucket;
    return taken.isTaken;
  };
}

export type Freshness =
  | TicketCheck<Promise<MachineAnswer>>
  /** The ticket is fresh, but the token bucket is empty. `remember` stores the refusal under the ticket. */
  | { kind: "too often"; isFork: boolean; remember: (answer: Promise<MachineAnswer>) => void };

export const RATE_LIMITED = failure({
  reason: "rate-limited" as const,
  retryAfterSeconds: RETRY_AFTER_SECONDS,
});

export class FreshRequests {
  readonly #leaseMs: () => number;
  readonly #mayAsk: (nowMs: number) => boolean;
  #tickets: Tickets<Promise<MachineAnswer>> = {};

  /** `leaseMs` returns for how many milliseconds a ticket is valid: one lease duration. */
  constructor(leaseMs: () => number) {
    this.#leaseMs = leaseMs;
    this.#mayAsk = requestRate(() => requestLimit(leaseMs()));
  }

  /** Checks the ticket; a fresh ticket takes a token from the bucket. Callers must verify the signature before. */
  use(use: TicketUse): Freshness {
    const checked = useTicket(this.#tickets, use, currentMs(), this.#leaseMs());
    if (checked.kind !== "fresh" || this.#mayAsk(currentMs())) return checked;
    return { ...checked, kind: "too often" };
  }

  /** Calls `act` once for a fresh request. Any other request gets the earlier answer, a challenge or a refusal. */
  answerOnce(use: TicketUse, act: () => Promise<MachineAnswer>): Promise<MachineAnswer> {
    const freshness = this.use(use);
    if (freshness.kind === "repeated") return freshness.answer;
    if (freshness.kind === "stale")
      return Promise.resolve(failure({ reason: "ticket-stale", ticket: this.offerTicket() }));
    const answer = freshness.kind === "fresh" ? act() : Promise.resolve(RATE_LIMITED);
    freshness.remember(answer);
    return answer;
  }

  /** Returns a ticket for the next answer. `isLate`: true if that answer is for a late request. */
  offerTicket(isLate = false): string {
    return offerTicket(this.#tickets, currentMs(), this.#leaseMs(), randomNonce, isLate);
  }

  /** Returns the tickets for a lease loan, without remembered answers: a repeated request is then challenged. */
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

  /**
   * Restores a loan's tickets after an eviction. An object that has accepted a request since it woke keeps its own
   * tickets, which are newer: over HTTP a request may come during the loan. `heardMs`: the last heartbeat, which shows
   * that the machine had the loan's last ticket.
   */
  takeBack(lent: Tickets<never>, heardMs: number | undefined): void {
    const tickets = this.#tickets.used ? this.#tickets : lent;
    const nonce = lent.offered?.at(-1)?.nonce;
    this.#tickets = heardMs === undefined || nonce === undefined ? tickets : hadAt(tickets, nonce, heardMs);
  }

  /** Forgets all tickets. Call it when another machine gets the name. */
  forget(): void {
    this.#tickets = {};
  }
}

interface Ticket<Answer> {
  nonce: string;
  issuedAtMs: number;
  /** The number of the last request under this ticket; 0 if the ticket is unused. */
  n: number;
  body: string;
  /** The digest of the process that has used this ticket. No other process may use it. */
  process?: string | undefined;
  answer?: Answer;
}

export interface Tickets<Answer> {
  /** The last used ticket, valid until another ticket is used, because the machine may not have received the answer. */
  used?: Ticket<Answer>;
  /** The unused tickets that were offered after `used`, oldest first. */
  offered?: Ticket<Answer>[];
  /** The ticket in the answers to late requests. */
  contested?: Ticket<Answer>;
  /** The digest of the process that used a ticket last. */
  process?: string;
}

export interface TicketUse {
  ticket: string;
  n: number;
  /** The digest of the request's body. */
  body: string;
  /** The digest of the startId; absent if the shim's report loop did not send the request. */
  process?: string;
}

type TicketCheck<Answer> =
  /** `isLate`: the process has used a later ticket, so that only a second holder of the key waits for the answer. */
  | { kind: "stale"; isLate: boolean }
  /** The request repeats an earlier request. `answer`: the answer to that request. */
  | { kind: "repeated"; answer: Answer }
  /**
   * The ticket has advanced, so that no earlier signed request is accepted any more. Call `remember` before the
   * next await. `isFork`: true if the ticket was in the answer to a late request, so that the process runs in two
   * places.
   */
  | { kind: "fresh"; isFork: boolean; remember: (answer: Answer) => void };

/** The limit of unused tickets. A lease duration has fewer answers, so all tickets beyond the limit have expired. */
const MAX_OFFERED = 4;

/** Checks a request's ticket; a fresh ticket advances. Awaits nothing. A ticket is valid for `lifetimeMs`. */
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
  // A ticket that expired unused shows no second holder of the key, since the machine was silent.
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
  // The machine has used this ticket, so the machine will use no earlier ticket any more.
  tickets.offered = ticket === tickets.contested ? [] : offered.slice(offered.indexOf(ticket) + 1);
  if (ticket === tickets.contested) delete tickets.contested;
  tickets.used = ticket;
}

/**
 * Returns the ticket for an answer. Offers an unused ticket again during half its lifetime, so that replayed
 * requests cannot replace the machine's own ticket. `isLate`: true if the answer is for a late request.
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
  // The client collects tickets and uses none. The used ticket goes too: no request with a forgotten ticket is late.
  tickets.offered = offered.slice(-2);
  delete tickets.used;
  delete tickets.process;
}

/** Returns the tickets. The unused one with this nonce is valid from `atMs`: a heartbeat then showed that the machine had it. */
function hadAt<Answer>(tickets: Tickets<Answer>, nonce: string, atMs: number): Tickets<Answer> {
  const offered = (tickets.offered ?? []).map((each) =>
    each.nonce === nonce ? { ...each, issuedAtMs: Math.max(each.issuedAtMs, atMs) } : each,
  );
  return { ...tickets, offered };
}
