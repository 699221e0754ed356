// Where the machines that match are to be had as CSV: the API's own list, with the columns that are shown. Asks nothing.
import { MACHINE_FIELDS, MACHINE_SORTS } from "../../../shared/fleet/machine-fields.ts";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import type { FleetColumn } from "./columns.ts";
import { apiQuery, type FleetQuery } from "./fleet-query.ts";
import type { FleetSearch } from "./search-terms.ts";

/** Machines that wait for an approval are none of the table's. */
const ENROLLED = FLEET_STATES.filter((state) => state !== "pending").join();

/** A path with its query; null: the API has no words for these machines. */
export function csvPath(
  query: FleetQuery,
  search: FleetSearch,
  columns: readonly FleetColumn[],
): string | null {
  const parameters = apiQuery(query, search);
  if (!parameters) return null;
  const shown = new Set(["name", ...columns.flatMap(({ fields }) => fields)]);
  const fields = MACHINE_FIELDS.filter((field) => shown.has(field)).join();
  const by = query.sort === "state" ? "urgency" : MACHINE_SORTS.find((each) => each === query.sort);
  const asked = new URLSearchParams({
    state: ENROLLED,
    ...parameters,
    ...(by && { sort: `${query.isDescending ? "-" : ""}${by}` }),
    fields,
    format: "csv",
  });
  return `/v1/machines?${asked}`;
}
