// The queries of the fleet index's routes, which the Worker's routes and the command line share. A parameter is a text,
// and becomes a term of a filter here, or is refused. Times are RFC 3339.
import * as z from "zod/mini";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import { parseConditions, parseVersions, parseWords } from "../fleet/machine-filter.ts";
import { addressRange } from "../fleet/sort-keys.ts";
import { FLEET_STATES } from "../fleet/state.ts";
import { failure, type Result, success } from "../result.ts";
import { PHASES } from "./answers.ts";
import { FILTER_LIMITS, LIMITS, PAGE_LIMITS } from "./limits.ts";
import { HISTORY_KINDS } from "./operator-api.ts";

/** A text of bounded length that `parse` reads, or refuses by saying what was expected. */
function parsed<T>(maxLength: number, parse: (text: string) => Result<T>) {
  const read = z.transform((text: string, context: z.core.ParsePayload): T => {
    const result = parse(text);
    if (result.ok) return result.value;
    context.issues.push({ code: "custom", message: result.error, input: text });
    return z.NEVER;
  });
  return z.optional(z.pipe(z.string().check(z.minLength(1), z.maxLength(maxLength)), read));
}

const words = <Word extends string>(known: readonly Word[]) =>
  parsed(LIMITS.textLength, (text) => parseWords(text, known));

const time = parsed(LIMITS.idLength, (text) => {
  const ms = z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? failure("expected a time: 2026-01-31T12:00:00Z") : success(ms);
});

const selector = parsed(FILTER_LIMITS.selectorLength, (text) => {
  const requirements = parseLabelSelector(text);
  if (!requirements.ok) return requirements;
  const values = requirements.value.reduce((sum, each) => sum + each.values.length, 0);
  return requirements.value.length > FILTER_LIMITS.terms || values > FILTER_LIMITS.labelValues
    ? failure(`more than ${FILTER_LIMITS.terms} requirements, or ${FILTER_LIMITS.labelValues} values`)
    : requirements;
});

/** What machines are found by, in the query of each route that takes a filter. */
export const filterShape = {
  state: words(FLEET_STATES),
  phase: words(PHASES),
  condition: parsed(LIMITS.textLength, parseConditions),
  selector,
  version: parsed(LIMITS.textLength, parseVersions),
  address: parsed(LIMITS.idLength, (text) => {
    const range = addressRange(text);
    return range ? success(range) : failure("expected an IP address, or a range: 203.0.113.0/24");
  }),
  beside: z.optional(z.string().check(z.minLength(1), z.maxLength(LIMITS.nameLength))),
  token: z.optional(z.string().check(z.minLength(1), z.maxLength(LIMITS.idLength))),
  unused: parsed(LIMITS.idLength, (text) =>
    text === "true" || text === "false" ? success(text === "true") : failure("expected true or false"),
  ),
  text: z.optional(z.string().check(z.minLength(1), z.maxLength(FILTER_LIMITS.textLength))),
  since: time,
  until: time,
};

/** `urgency`: what has to be looked at first, and of those what began last. */
export const MACHINE_SORTS = ["name", "state", "since", "version", "address", "urgency"] as const;
export type MachineSort = (typeof MACHINE_SORTS)[number];

/** What is shown of a machine, in this order. */
export const MACHINE_FIELDS = [
  "name",
  "state",
  "since",
  "phase",
  "why",
  "address",
  "versions",
  "conditions",
  "labels",
  "isUnschedulable",
  "addresses",
  "capacity",
  "skewMs",
  "silentSince",
  "boot",
  "process",
  "transport",
  "withheld",
  "key",
] as const;
export type MachineField = (typeof MACHINE_FIELDS)[number];

export const LIST_FORMATS = ["json", "ndjson", "csv"] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

const rows = z.coerce.number().check(z.int(), z.minimum(1), z.maximum(PAGE_LIMITS.entries));

/** Of every list: how many entries, and as what. A list in lines has all of them unless it is told how many. */
const listShape = {
  format: z.optional(z.enum(LIST_FORMATS)),
  limit: z.optional(rows),
};

/** The query of GET /v1/machines. */
export const machinesQuerySchema = z.strictObject({
  ...filterShape,
  /** `-since`: the other way round. */
  sort: parsed(LIMITS.idLength, (text) => {
    const by = MACHINE_SORTS.find((sort) => sort === text.replace(/^-/, ""));
    return by
      ? success({ by, isDescending: text.startsWith("-") })
      : failure(`expected one of ${MACHINE_SORTS.join(", ")}, or one with a - before it`);
  }),
  fields: words(MACHINE_FIELDS),
  ...listShape,
  /** Of the page before. */
  cursor: z.optional(z.string().check(z.minLength(1), z.maxLength(LIMITS.textLength))),
});
export type MachinesQuery = z.infer<typeof machinesQuerySchema>;

/** The query of GET /v1/history. */
export const fleetHistoryQuerySchema = z.strictObject({
  since: time,
  until: time,
  kind: words(HISTORY_KINDS),
  /** Of this machine alone. */
  name: z.optional(z.string().check(z.minLength(1), z.maxLength(LIMITS.nameLength))),
  /** Somewhere in the line; capitals do not matter. */
  text: z.optional(z.string().check(z.minLength(1), z.maxLength(FILTER_LIMITS.textLength))),
  /** Only what came before the entry of this ID: the next page. */
  before: z.optional(z.coerce.number().check(z.int(), z.minimum(1))),
  ...listShape,
});
export type FleetHistoryQuery = z.infer<typeof fleetHistoryQuerySchema>;
