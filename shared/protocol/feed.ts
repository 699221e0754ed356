// The feed's protocol: query, messages, close codes; docs/feed.md has the same. Times are RFC 3339, in machines'
// columns milliseconds since 1970.
import * as z from "zod/mini";
import type { CodedColumns } from "../fleet/columns.ts";
import type { FleetCounts } from "../fleet/state.ts";
import type { PendingMachine } from "./operator-answers.ts";
import type { Outage } from "./outages.ts";

/** INDEX_SEQ, or INDEX_SEQ_ROW within a snapshot. Opaque to clients. */
const CURSOR = /^[\da-f]{16}_\d{1,15}(_\d{1,15})?$/;

/** The query of GET /v1/feed. */
export const feedQuerySchema = z.strictObject({
  /** The last cursor that the client has processed; absent if it has no state. */
  cursor: z.optional(z.string().check(z.regex(CURSOR, "must be a cursor of the feed"))),
});

/** 201 to POST /v1/feed/tickets. */
export const feedTicketSchema = z.object({ ticket: z.string(), expiresAt: z.string() });
export type FeedTicket = z.infer<typeof feedTicketSchema>;

/** The first message. Clients do not acknowledge it. */
export interface FeedHello {
  type: "hello";
  /** True if the feed continues from the query's cursor. Otherwise a snapshot follows. */
  resumed: boolean;
  /** Why not; "" if it continues, or the query has no cursor. */
  why: string;
}

/** Every other message. After processing it a client sends `{"ack": CURSOR}`. */
interface FeedNews {
  cursor: string;
  /** Machines that wait for an approval, oldest first; absent if unchanged. */
  pending?: PendingMachine[];
  /** By ID. Absent outages are unchanged. */
  outages?: Outage[];
}

export interface FeedSnapshot extends FeedNews {
  type: "snapshot";
  /** The number of machines in this part. */
  rows: number;
  /** With ALL_FIELDS. */
  machines: CodedColumns;
  /** True if no part follows. The client drops all machines and outages that the snapshot lacks. */
  isLast: boolean;
  /** Only in the last part. */
  counts?: FleetCounts;
}

export interface FeedChanges extends FeedNews {
  type: "changes";
  /** ALL_FIELDS of machines that are new, or whose rarely changing fields changed. */
  machines?: { rows: number; columns: CodedColumns };
  /** MOVING_FIELDS of the other changed machines. */
  moved?: { rows: number; columns: CodedColumns };
  /** Names of removed machines. */
  gone?: string[];
  /** Present if the client is up to date after this message. Its own rows give the same counts. */
  counts?: FleetCounts;
}

export type FeedMessage = FeedHello | FeedSnapshot | FeedChanges;
