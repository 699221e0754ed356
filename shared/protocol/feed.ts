// Defines the feed's messages (docs/feed.md). Times are RFC 3339, in columns of machines milliseconds since 1970.
import * as z from "zod/mini";
import type { CodedColumns } from "../fleet/columns.ts";
import type { FleetCounts } from "../fleet/state.ts";
import type { PendingMachine } from "./operator-answers.ts";
import type { Outage } from "./outages.ts";

/** The form of a cursor: INDEX_SEQ, or INDEX_SEQ_ROW within a snapshot. A client must not interpret it. */
const CURSOR = /^[\da-f]{16}_\d{1,15}(_\d{1,15})?$/;

/** The query of GET /v1/feed. */
export const feedQuerySchema = z.strictObject({
  /** The last cursor that the client has processed; absent if the client has no machines yet. */
  cursor: z.optional(z.string().check(z.regex(CURSOR, "must be a cursor of the feed"))),
});

/** The body of a 201 answer to POST /v1/feed/tickets. */
export const feedTicketSchema = z.object({ ticket: z.string(), expiresAt: z.string() });
export type FeedTicket = z.infer<typeof feedTicketSchema>;

/** The first message. Clients do not acknowledge it. */
export interface FeedHello {
  type: "hello";
  /** true if the feed continues from the query's cursor. Otherwise a snapshot follows. */
  resumed: boolean;
  /** The reason why the feed does not continue; "" if it does, or the query has no cursor. */
  why: string;
}

/** The fields of all messages after the first. After processing a message, a client sends `{"ack": CURSOR}`. */
interface FeedNews {
  cursor: string;
  /** The machines that wait for an approval, oldest first; absent if they are unchanged. */
  pending?: PendingMachine[];
  /** The changed outages. The client replaces outages with an equal ID, and keeps all others. */
  outages?: Outage[];
}

export interface FeedSnapshot extends FeedNews {
  type: "snapshot";
  /** The number of machines in this part of the snapshot. */
  rows: number;
  /** The machines, with ALL_FIELDS. */
  machines: CodedColumns;
  /** true for the last part. The client then removes all machines and outages that the snapshot lacks. */
  isLast: boolean;
  /** The number of machines by state; present only in the last part. */
  counts?: FleetCounts;
}

export interface FeedChanges extends FeedNews {
  type: "changes";
  /** The machines that are new, or whose rarely changing fields have changed, with ALL_FIELDS. */
  machines?: { rows: number; columns: CodedColumns };
  /** All other changed machines, with MOVING_FIELDS. */
  moved?: { rows: number; columns: CodedColumns };
  /** The names of removed machines. */
  gone?: string[];
  /** The number of machines by state, to check the client's rows; present if these rows are now up to date. */
  counts?: FleetCounts;
}

export type FeedMessage = FeedHello | FeedSnapshot | FeedChanges;
