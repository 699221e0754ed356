// Limits how often one machine's requests are handled. Counts only fresh requests that the machine signed, so that
// nobody else can use up its share, not even with recorded requests.
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
/** After this time some requests are allowed again. */
const RETRY_AFTER_SECONDS = 1;

/** Call it for each request; false: one too many. It is kept in memory: an object that was evicted had few requests. */
export function requestRate({ atOnce, perSecond }: RequestLimit = REQUEST_LIMIT): (nowMs: number) => boolean {
  let bucket: TokenBucket | undefined;
  return (nowMs) => {
    const taken = tryAccept(bucket, nowMs * 1000, atOnce, perSecond);
    bucket = taken ?? bucket;
    return taken !== null;
  };
}

// Decides which requests of one machine are acted on: those with a fresh ticket, within the machine's rate. It is kept
// in memory: an object that was evicted challenges, and had few requests.

export type Freshness =
  | TicketCheck<Promise<MachineAnswer>>
  /** Fresh, but one too many: the refusal is remembered under the ticket like any answer. */
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

  /** Uses the request's ticket up, in one synchronous step. */
  use(use: TicketUse): Freshness {
    const checked = useTicket(this.#tickets, use, currentMs(), this.#leaseMs());
    if (checked.kind !== "fresh" || this.#mayAsk(currentMs())) return checked;
    return { ...checked, kind: "too often" };
  }

  /** Acts on a fresh request, once; any other one gets the earlier answer, a challenge or a refusal. */
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

  /** For the baton. Answers stay here: who has lost one is challenged. */
  handOver(): Tickets<never> {
    return withoutAnswers(this.#tickets);
  }

  /** `heardMs`: when the machine's last heartbeat came, by which it had read the last answer; undefined: none came. */
  takeBack(tickets: Tickets<never>, heardMs: number | undefined): void {
    this.#tickets = heardMs === undefined ? tickets : usedUntil(tickets, heardMs);
  }

  /** Call it when another machine has the name. */
  forget(): void {
    this.#tickets = {};
  }
}

// Decides which requests are fresh: every answer has a random ticket, and requests count up under it. Kept in the node
// object's memory: an object that was evicted knows no ticket and challenges. Clock and randomness are arguments.
//
// It also shows a second holder of the key. One process has one request under way, signed over the ticket of the last
// answer that it read; so once a ticket of it was used, nobody waits for the answer to a request under one from before.
// Such a request is late. A late one that the network has delayed is answered to nobody; where the ticket in that
// answer is used, the process runs in two places.

interface Ticket<Answer> {
  nonce: string;
  issuedAtMs: number;
  /** The last request under it: 0 when unused. */
  n: number;
  body: string;
  /** Digest of the process that uses it: nobody else may. */
  process?: string | undefined;
  answer?: Answer;
}

export interface Tickets<Answer> {
  /** The one that was used last: valid until another one is, since its answer may be lost. */
  used?: Ticket<Answer>;
  /** Offered after it was issued, and unused; oldest first. */
  offered?: Ticket<Answer>[];
  /** Offered to nobody but the signers of late requests. */
  contested?: Ticket<Answer>;
  /** The process that used one last. */
  process?: string;
}

export interface TicketUse {
  ticket: string;
  n: number;
  /** Digest of the request's body. */
  body: string;
  /** Digest of the startId; absent where another program than the shim's loop asks. */
  process?: string;
}

type TicketCheck<Answer> =
  /** `isLate`: the process has used a later ticket, so that nobody but its double waits for the answer. */
  | { kind: "stale"; isLate: boolean }
  /** The same request had this answer. */
  | { kind: "repeated"; answer: Answer }
  /**
   * The ticket has advanced: no request that was signed before can follow. Call `remember` in the same turn. `isFork`:
   * the ticket was the answer to a late request, so that the process runs in two places.
   */
  | { kind: "fresh"; isFork: boolean; remember: (answer: Answer) => void };

/** More unused ones than a lease duration brings: the oldest have expired. */
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
  // One that has expired unused proves nothing: its machine was silent.
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
  // The tickets from before are of no use any more.
  tickets.offered = ticket === tickets.contested ? [] : offered.slice(offered.indexOf(ticket) + 1);
  if (ticket === tickets.contested) delete tickets.contested;
  tickets.used = ticket;
}

/**
 * The nonce for an answer. An unused one is offered again while it is young, so that replayed requests cannot replace
 * the machine's own ticket. `isLate`: for the answer to a late request.
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
  // Nobody uses them. What is forgotten here must not look late afterwards.
  tickets.offered = offered.slice(-2);
  delete tickets.used;
  delete tickets.process;
}

/** What can be stored: a request that is repeated counts as stale afterwards. */
function withoutAnswers<Answer>({ used, offered, contested, process }: Tickets<Answer>): Tickets<never> {
  const bare = (whole: Ticket<Answer>): Ticket<never> => {
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

/** The machine had the last offered one until then, as its heartbeats show: its lifetime counts from there. */
function usedUntil(tickets: Tickets<never>, atMs: number): Tickets<never> {
  const { offered = [] } = tickets;
  const last = offered.at(-1);
  if (!last) return tickets;
  return {
    ...tickets,
    offered: [...offered.slice(0, -1), { ...last, issuedAtMs: Math.max(last.issuedAtMs, atMs) }],
  };
}
