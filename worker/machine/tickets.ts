// Decides which requests are fresh: every answer has a random ticket, and requests count up under it. Kept in the node
// object's memory: an object that was evicted knows no ticket and challenges. Clock and randomness are arguments.

interface Ticket<Answer> {
  nonce: string;
  issuedAtMs: number;
  /** The last request under it: 0 when unused. */
  n: number;
  body: string;
  answer?: Answer;
}

/** `current` was offered last; `previous` is valid until `current` has been used. */
export interface Tickets<Answer> {
  current?: Ticket<Answer>;
  previous?: Ticket<Answer>;
}

export interface TicketUse {
  ticket: string;
  n: number;
  /** Digest of the request's body. */
  body: string;
}

export type TicketCheck<Answer> =
  | { kind: "stale" }
  /** The number was used for another body, which one holder of the key never does. */
  | { kind: "forked" }
  /** The same request had this answer. */
  | { kind: "repeated"; answer: Answer }
  /** The ticket has advanced: no request that was signed before can follow. Call `remember` in the same turn. */
  | { kind: "fresh"; remember: (answer: Answer) => void };

/** Compares and advances in one synchronous step. A ticket is valid for `lifetimeMs` (one lease duration). */
export function useTicket<Answer>(
  tickets: Tickets<Answer>,
  use: TicketUse,
  nowMs: number,
  lifetimeMs: number,
): TicketCheck<Answer> {
  const ticket = [tickets.current, tickets.previous].find((known) => known?.nonce === use.ticket);
  if (!ticket || nowMs - ticket.issuedAtMs > lifetimeMs) return { kind: "stale" };
  if (use.n === ticket.n && use.body === ticket.body && ticket.answer !== undefined) {
    return { kind: "repeated", answer: ticket.answer };
  }
  if (use.n <= ticket.n) return { kind: use.n === ticket.n && use.body !== ticket.body ? "forked" : "stale" };
  ticket.n = use.n;
  ticket.body = use.body;
  delete ticket.answer;
  if (ticket === tickets.current) delete tickets.previous;
  return { kind: "fresh", remember: (answer) => void (ticket.answer = answer) };
}

/**
 * The nonce for an answer. An unused one is offered again while it is young, so that replayed requests cannot replace
 * the machine's own ticket.
 */
export function offerTicket<Answer>(
  tickets: Tickets<Answer>,
  nowMs: number,
  lifetimeMs: number,
  randomNonce: () => string,
): string {
  const { current } = tickets;
  if (current && current.n === 0 && nowMs - current.issuedAtMs < lifetimeMs / 2) return current.nonce;
  if (current) tickets.previous = current;
  tickets.current = { nonce: randomNonce(), issuedAtMs: nowMs, n: 0, body: "" };
  return tickets.current.nonce;
}
