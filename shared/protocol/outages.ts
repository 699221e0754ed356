// Outages, as operators ask for them and are answered. The Worker imports the answers' types alone, so that its bundle
// has none of those schemas. Times are RFC 3339.
import * as z from "zod/mini";
import { listShape, pageLimit } from "./parameters.ts";

const time = z.optional(z.iso.datetime({ offset: true }));

/** The query of GET /v1/outages. */
export const outagesQuerySchema = z.strictObject({
  /** Only what was not over by then. */
  since: time,
  /** Only what had begun before. */
  until: time,
  /** The `next` of an answer: the page after it. */
  before: z.optional(
    z.string().check(z.regex(/^(open|ended)\.\d{1,15}$/, "must be the `next` of an answer")),
  ),
  ...listShape,
});
export type OutagesQuery = z.infer<typeof outagesQuerySchema>;

/** The query of GET /v1/outages/{id}. */
export const outageQuerySchema = z.strictObject({
  /** Only names that sort behind this one: the next page. */
  after: z._default(z.string(), ""),
  limit: pageLimit,
});
export type OutageQuery = z.infer<typeof outageQuerySchema>;

/** The path of GET /v1/outages/{id}. */
export const outageIdSchema = z.coerce.number().check(z.int(), z.minimum(1));

const outageShape = {
  id: z.number(),
  /** `203.0.113.7`, `2001:db8::/64`: what its machines report from. */
  network: z.string(),
  /** When the first of its silences began. */
  startedAt: z.string(),
  /** When the last of its machines was back, or gone for ever; null: it goes on. */
  endedAt: z.nullable(z.string()),
  /** How many it has had. */
  machines: z.number(),
  /** How many of them are silent yet. */
  silent: z.number(),
  /** The first ones by name. */
  names: z.array(z.string()),
  /** `cut off`, or `3 cut off, 1 down`: of those whose silence has ended. */
  was: z.string(),
};
const outage = z.object(outageShape);
/** Machines of one network whose silence began within a minute of each other. */
export type Outage = z.infer<typeof outage>;

/** 200 to GET /v1/outages: open ones first, then by the latest. */
export const outagesSchema = z.object({
  outages: z.array(outage),
  /** null: this was the last page. */
  next: z.nullable(z.string()),
});
export type OutagesAnswer = z.infer<typeof outagesSchema>;

const outageMachine = z.object({
  name: z.string(),
  silentSince: z.string(),
  /** null: it is silent yet. */
  backAt: z.nullable(z.string()),
  /** cut off, down, restarted, left, unknown; null: it is silent yet. */
  end: z.nullable(z.string()),
});

/** 200 to GET /v1/outages/{id}: its machines by name. */
export const outageSchema = z.object({
  ...outageShape,
  list: z.array(outageMachine),
  next: z.nullable(z.string()),
});
export type OutageAnswer = z.infer<typeof outageSchema>;
