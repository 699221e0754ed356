// Defines the feed's sub-protocols and close codes. The page loads this file without the schemas.

/** The WebSocket's sub-protocol. A client sends its ticket as a second sub-protocol: `ticket.TICKET`. */
export const FEED_PROTOCOL = "rollcall.feed.v1";
export const TICKET_PROTOCOL = "ticket.";

/** The close codes of the feed's WebSocket. */
export const FEED_CLOSED = {
  /** The client sent an invalid frame. */
  badFrame: 4400,
  /** The credential is no longer valid, or the feed has reached its longest life. */
  notAllowed: 4401,
  /** The client did not acknowledge messages in time. */
  tooSlow: 4408,
  /** The Worker could not check the credential. The client connects again later (IANA: Try Again Later). */
  inDoubt: 1013,
} as const;
