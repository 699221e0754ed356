// Defines the queries of the fleet index's routes; parses each parameter into a filter's term. Times are RFC 3339.
import * as z from "zod/mini";
import { parseLabelSelector } from "../kubernetes/label-selector.ts";
import { MACHINE_FIELDS, MACHINE_SORTS } from "../fleet/machine-fields.ts";
import { parseConditions, parseVersions } from "../fleet/search-filter.ts";
import { addressRange } from "../fleet/sort-keys.ts";
import { FLEET_STATES } from "../fleet/state.ts";
import { failure, success } from "../result.ts";
import { PHASES } from "./answers.ts";
import { FILTER_LIMITS, LIMITS } from "./limits.ts";
import { HISTORY_KINDS } from "./operator-api.ts";
import { entryID, listShape, parsed, textOf, time, words } from "./parameters.ts";

const selector = parsed(FILTER_LIMITS.selectorLength, (text) => {
  const requirements = parseLabelSelector(text);
  if (!requirements.ok) return requirements;
  const values = requirements.value.reduce((sum, each) => sum + each.values.length, 0);
  return requirements.value.length > FILTER_LIMITS.terms || values > FILTER_LIMITS.labelValues
    ? failure(`more than ${FILTER_LIMITS.terms} requirements, or ${FILTER_LIMITS.labelValues} values`)
    : requirements;
});

/** The terms of a filter of machines, in the query of each route that takes a filter. */
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
  beside: textOf(LIMITS.nameLength),
  token: textOf(LIMITS.idLength),
  unused: parsed(LIMITS.idLength, (text) =>
    text === "true" || text === "false" ? success(text === "true") : failure("expected true or false"),
  ),
  text: textOf(FILTER_LIMITS.textLength),
  since: time,
  until: time,
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
