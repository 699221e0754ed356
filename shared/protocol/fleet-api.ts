// Defines the queries of the fleet index's routes; parses each parameter into a filter's term. Times are RFC 3339.
import * as z from "zod/mini";
import { MACHINE_FIELDS, MACHINE_SORTS } from "../fleet/machine-fields.ts";
import { FILTER_TERMS, type FilterTerm } from "../fleet/search-filter.ts";
import { failure, success } from "../result.ts";
import { FILTER_LIMITS, LIMITS } from "./limits.ts";
import { HISTORY_KINDS } from "./history-kinds.ts";
import { entryID, listShape, pageLimit, parsed, textOf, time, words } from "./parameters.ts";

const term = <T>({ maxLength, parse }: FilterTerm<T>) => parsed(maxLength, parse);

/** The terms of a filter of machines, in the query of each route that takes a filter. */
export const filterShape = {
  state: term(FILTER_TERMS.state),
  phase: term(FILTER_TERMS.phase),
  condition: term(FILTER_TERMS.condition),
  selector: term(FILTER_TERMS.selector),
  version: term(FILTER_TERMS.version),
  address: term(FILTER_TERMS.address),
  beside: term(FILTER_TERMS.beside),
  token: term(FILTER_TERMS.token),
  unused: term(FILTER_TERMS.unused),
  text: term(FILTER_TERMS.text),
  since: term(FILTER_TERMS.since),
  until: term(FILTER_TERMS.until),
};

/** The query of GET /v1/machines. */
export const machinesQuerySchema = z.strictObject({
  ...filterShape,
  /** The order of the list. `-since` reverses the order `since`. */
  sort: parsed(LIMITS.idLength, (text) => {
    const by = MACHINE_SORTS.find((sort) => sort === text.replace(/^-/, ""));
    return by
      ? success({ by, isDescending: text.startsWith("-") })
      : failure(`expected one of ${MACHINE_SORTS.join(", ")}, or one with a - before it`);
  }),
  fields: words(MACHINE_FIELDS),
  ...listShape,
  /** The `cursor` in the answer with the previous page. */
  cursor: textOf(LIMITS.textLength),
});
export type MachinesQuery = z.infer<typeof machinesQuerySchema>;

/** The query of GET /v1/history. */
export const fleetHistoryQuerySchema = z.strictObject({
  since: time,
  until: time,
  kind: words(HISTORY_KINDS),
  /** If present, the answer has only lines of this machine. */
  name: textOf(LIMITS.nameLength),
  /** If present, the answer has only lines that contain this text, in upper or lower case. */
  text: textOf(FILTER_LIMITS.textLength),
  before: entryID,
  ...listShape,
});
export type FleetHistoryQuery = z.infer<typeof fleetHistoryQuerySchema>;

const isoTime = z.optional(z.iso.datetime({ offset: true }));

/** The query of GET /v1/outages. */
export const outagesQuerySchema = z.strictObject({
  /** If present, the answer has only outages that ended after this time. */
  since: isoTime,
  /** If present, the answer has only outages that began before this time. */
  until: isoTime,
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

/** The query of GET /v1/usage. */
export const usageQuerySchema = z.strictObject({
  /** If present, the answer has only this machine. */
  name: z.optional(z.string()),
});
