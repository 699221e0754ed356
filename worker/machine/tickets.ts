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

export type TicketCheck<Answer> =
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
export function withoutAnswers<Answer>({
  used,
  offered,
  contested,
  process,
}: Tickets<Answer>): Tickets<never> {
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
export function usedUntil(tickets: Tickets<never>, atMs: number): Tickets<never> {
  const { offered = [] } = tickets;
  const last = offered.at(-1);
  if (!last) return tickets;
  return {
    ...tickets,
    offered: [...offered.slice(0, -1), { ...last, issuedAtMs: Math.max(last.issuedAtMs, atMs) }],
  };
}
