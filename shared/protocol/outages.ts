// Defines the requests and answers about outages. The Worker imports only the answers' types. Times are RFC 3339.
import * as z from "zod/mini";
import { listShape, pageLimit } from "./parameters.ts";

const time = z.optional(z.iso.datetime({ offset: true }));

/** The query of GET /v1/outages. */
export const outagesQuerySchema = z.strictObject({
  /** If present, the answer has only outages that ended after this time. */
  since: time,
  /** If present, the answer has only outages that began before this time. */
  until: time,
  /** The `next` of the previous page. */
  before: z.optional(
    z.string().check(z.regex(/^(open|ended)\.\d{1,15}$/, "must be the `next` of an answer")),
  ),
  ...listShape,
});
export type OutagesQuery = z.infer<typeof outagesQuerySchema>;

/** The query of GET /v1/outages/{id}. */
export const outageQuerySchema = z.strictObject({
  /** If present, the answer has only machines whose names sort after this text. */
  after: z._default(z.string(), ""),
  limit: pageLimit,
});
export type OutageQuery = z.infer<typeof outageQuerySchema>;

/** The ID in the path of GET /v1/outages/{id}. */
export const outageIdSchema = z.coerce.number().check(z.int(), z.minimum(1));

const outageShape = {
  id: z.number(),
  /** The network that the outage's machines report from: `203.0.113.7`, `2001:db8::/64`. */
  network: z.string(),
  /** The start of the first machine's silence. */
  startedAt: z.string(),
  /** The time from which no two of the machines were silent; null while the outage lasts. */
  endedAt: z.nullable(z.string()),
  /** The number of machines in the outage. */
  machines: z.number(),
  /** The number of machines that are still silent. */
  silent: z.number(),
  /** The first names of the outage's machines, sorted. */
  names: z.array(z.string()),
  /** The kinds of the silences that have ended: `cut off`, or `3 cut off, 1 down`. */
  was: z.string(),
};
const outage = z.object(outageShape);
/** An outage: machines of one network whose silences began within a minute of each other. */
export type Outage = z.infer<typeof outage>;

/** The body of a 200 answer to GET /v1/outages: open outages first, then the latest. */
export const outagesSchema = z.object({
  outages: z.array(outage),
  /** The parameter `before` of the next page; null on the last page. */
  next: z.nullable(z.string()),
});
export type OutagesAnswer = z.infer<typeof outagesSchema>;

const outageMachine = z.object({
  name: z.string(),
  silentSince: z.string(),
  /** The time at which the machine was back; null while it is silent. */
  backAt: z.nullable(z.string()),
  /** `cut off`, `down`, `restarted`, `left` or `unknown`; null while the machine is silent. */
  end: z.nullable(z.string()),
});

/** The body of a 200 answer to GET /v1/outages/{id}: an outage and its machines, sorted by name. */
export const outageSchema = z.object({
  ...outageShape,
  list: z.array(outageMachine),
  next: z.nullable(z.string()),
});
export type OutageAnswer = z.infer<typeof outageSchema>;
