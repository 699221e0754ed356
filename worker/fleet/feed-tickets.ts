// Tickets for the feed: a browser cannot send an Authorization header with a WebSocket, and a secret has no place in a
// URL. A ticket opens one feed, once, soon; its SHA-256 alone is stored.
import { base64url } from "jose";
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { Credential } from "../identity/operator.ts";
import { digestOf } from "../identity/jwt.ts";

/** Whose feed it is. */
export interface FeedHolder {
  who: string;
  credential: Credential;
}

/** Nothing else looks like one, so that nothing else is looked up. */
export const isTicket = (text: string) => /^[\w-]{43}$/.test(text);

export class FeedTickets {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** null: too many are out. */
  async mint(holder: FeedHolder, nowMs: number): Promise<{ ticket: string; endsMs: number } | null> {
    const ticket = base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
    const hash = await digestOf(ticket);
    this.#sql.exec("DELETE FROM feed_tickets WHERE ends_ms <= ?", nowMs);
    const query = "SELECT COUNT(*) AS out, TOTAL(holder ->> 'who' = ?) AS own FROM feed_tickets";
    const { out, own } = this.#sql.exec<{ out: number; own: number }>(query, holder.who).one();
    if (out >= FEED_LIMITS.tickets || own >= FEED_LIMITS.ticketsOfOperator) return null;
    const endsMs = nowMs + 1000 * FEED_LIMITS.ticketSeconds;
    this.#sql.exec("INSERT INTO feed_tickets VALUES (?, ?, ?)", hash, JSON.stringify(holder), endsMs);
    return { ticket, endsMs };
  }

  /** null: it is none, or not any more. */
  async redeem(ticket: string, nowMs: number): Promise<FeedHolder | null> {
    const query = "DELETE FROM feed_tickets WHERE hash = ? RETURNING holder, ends_ms";
    const [row] = this.#sql.exec<{ holder: string; ends_ms: number }>(query, await digestOf(ticket));
    return row && nowMs < row.ends_ms ? (JSON.parse(row.holder) as FeedHolder) : null;
  }
}
