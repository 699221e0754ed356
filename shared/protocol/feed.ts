// The feed's protocol: query, messages, close codes; docs/feed.md has the same. Times are RFC 3339, in machines'
// columns milliseconds since 1970.
import * as z from "zod/mini";
import type { CodedColumns } from "../fleet/columns.ts";
import type { FleetCounts } from "../fleet/state.ts";
import type { PendingMachine } from "./operator-answers.ts";
import type { Outage } from "./outages.ts";

/** INDEX_SEQ, or within a snapshot INDEX_SEQ_ROW: clients send back what they got, and read nothing out of it. */
const CURSOR = /^[\da-f]{16}_\d{1,15}(_\d{1,15})?$/;

/** The query of GET /v1/feed. */
export const feedQuerySchema = z.strictObject({
  /** The last one that the client has acted on. Absent: it knows nothing. */
  cursor: z.optional(z.string().check(z.regex(CURSOR, "must be a cursor of the feed"))),
});

/** 201 to POST /v1/feed/tickets. */
export const feedTicketSchema = z.object({ ticket: z.string(), expiresAt: z.string() });
export type FeedTicket = z.infer<typeof feedTicketSchema>;

/** The first message; it is not acknowledged. */
export interface FeedHello {
  type: "hello";
  /** Does it go on from the query's cursor? Otherwise a snapshot follows. */
  resumed: boolean;
  /** Why not; "": it does, or nothing was asked. */
  why: string;
}

/** What every other message has; a client that has acted on it sends `{"ack": CURSOR}`. */
interface FeedNews {
  cursor: string;
  /** Machines that wait for an approval, oldest first; absent: as before. */
  pending?: PendingMachine[];
  /** By ID; those that are not in it are as before. */
  outages?: Outage[];
}

export interface FeedSnapshot extends FeedNews {
  type: "snapshot";
  /** Of this part. */
  rows: number;
  /** ALL_FIELDS of machines. */
  machines: CodedColumns;
  /** No part follows; what the client knew of other machines and outages is over. */
  isLast: boolean;
  /** With the last part. */
  counts?: FleetCounts;
}

export interface FeedChanges extends FeedNews {
  type: "changes";
  /** ALL_FIELDS of machines that are new, or changed in what they seldom change in. */
  machines?: { rows: number; columns: CodedColumns };
  /** MOVING_FIELDS of the others that changed. */
  moved?: { rows: number; columns: CodedColumns };
  /** Names that are no machine any more. */
  gone?: string[];
  /** Present where the client then has all there is: its own rows come to the same. */
  counts?: FleetCounts;
}

export type FeedMessage = FeedHello | FeedSnapshot | FeedChanges;
