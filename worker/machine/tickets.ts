// Which requests are fresh: a random ticket in every answer, and a count under it. Lives in the node object's
// memory; an object that was evicted knows no ticket and challenges. Pure: clock and randomness are arguments.

interface Ticket<Answer> {
  nonce: string;
  issuedAtMs: number;
  /** The last request under it: 0 when unused. */
  n: number;
  body: string;
  answer?: Answer;
}

/** `current` was offered last; `previous` is good until `current` has been used. */
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

export type Freshness<Answer> =
  /** `isFork`: this number was used for another body, which one holder of the key never does. */
  | { kind: "stale"; isFork: boolean }
  /** As it was before. */
  | { kind: "answered"; answer: Answer }
  /** Advanced: no request that was signed before can follow it. Call `remember` in the same turn. */
  | { kind: "fresh"; remember: (answer: Answer) => void };

/** Compares and advances in one synchronous step. A ticket is good for `lifetimeMs` (one lease duration). */
export function useTicket<Answer>(
  tickets: Tickets<Answer>,
  use: TicketUse,
  nowMs: number,
  lifetimeMs: number,
): Freshness<Answer> {
  const ticket = [tickets.current, tickets.previous].find((known) => known?.nonce === use.ticket);
  if (!ticket || nowMs - ticket.issuedAtMs > lifetimeMs) return { kind: "stale", isFork: false };
  if (use.n === ticket.n && use.body === ticket.body && ticket.answer !== undefined) {
    return { kind: "answered", answer: ticket.answer };
  }
  if (use.n <= ticket.n) return { kind: "stale", isFork: use.n === ticket.n && use.body !== ticket.body };
  ticket.n = use.n;
  ticket.body = use.body;
  delete ticket.answer;
  if (ticket === tickets.current) delete tickets.previous;
  return { kind: "fresh", remember: (answer) => void (ticket.answer = answer) };
}

/**
 * The nonce for an answer. One that was offered and not used yet is offered again while it is young, so that
 * nobody who replays old requests can push the machine's own ticket out.
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
