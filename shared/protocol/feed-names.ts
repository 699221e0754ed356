// The feed's sub-protocols and close codes. The page loads this file without the schemas.

/** The WebSocket's sub-protocol. A ticket is sent as a second one: `ticket.TICKET`. */
export const FEED_PROTOCOL = "rollcall.feed.v1";
export const TICKET_PROTOCOL = "ticket.";

/** The WebSocket's close codes. */
export const FEED_CLOSED = {
  /** The client sent an invalid frame. */
  badFrame: 4400,
  /** The credential is no longer valid, or the feed has reached its longest life. */
  notAllowed: 4401,
  /** The client did not acknowledge messages in time. */
  tooSlow: 4408,
  /** The credential could not be checked. The client connects again later (IANA: Try Again Later). */
  inDoubt: 1013,
} as const;
