// The feed's names: its sub-protocols, and the codes it closes with. Without schemas, so that a browser loads these alone.

/** The WebSocket's sub-protocol. A ticket, where there is one, is a second one: `ticket.TICKET`. */
export const FEED_PROTOCOL = "rollcall.feed.v1";
export const TICKET_PROTOCOL = "ticket.";

/** What a WebSocket is closed with. */
export const FEED_CLOSED = {
  /** The client sent something that is no frame of this protocol. */
  badFrame: 4400,
  /** The credential is not good any more, or the feed has lived its time. */
  notAllowed: 4401,
  /** Messages were not acknowledged. */
  tooSlow: 4408,
  /** Nobody could say whether the credential is good still: RFC 6455's "try again later". */
  inDoubt: 1013,
} as const;
