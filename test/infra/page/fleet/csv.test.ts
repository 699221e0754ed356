import { expect, it } from "vitest";
import { MACHINE_FIELDS } from "../../../../shared/fleet/machine-fields.ts";
import { machinesQuerySchema } from "../../../../shared/protocol/fleet-api.ts";
import { routeOf } from "../../../../infra/page/base/route.ts";
import { columnsOf, FLEET_COLUMNS } from "../../../../infra/page/fleet/columns.ts";
import { csvPath } from "../../../../infra/page/fleet/csv.ts";
import { fleetQueryOf } from "../../../../infra/page/fleet/fleet-query.ts";
import { readSearch } from "../../../../infra/page/fleet/search-terms.ts";

function pathOf(search: string, columns = columnsOf("name,state,cpu")): string | null {
  const query = fleetQueryOf(routeOf(search).rest);
  const read = readSearch(query.text);
  return read.ok ? csvPath(query, read.value, columns) : "unread";
}
const ENROLLED = "ready,not-ready,silent,cluster-unreachable,blocked,revoked";

it.each([
  ["", { state: ENROLLED, sort: "urgency" }],
  ["?q=site%3Db+x&sort=-since", { state: ENROLLED, selector: "site=b", text: "x", sort: "-since" }],
  ["?state=silent&sort=why", { state: "silent" }],
])("%s → what the API is asked for", (search, expected) => {
  const path = pathOf(search);
  expect(path).toMatch(/^\/v1\/machines\?/);
  const parameters = Object.fromEntries(new URL(path!, "https://page.test").searchParams);
  expect(parameters).toEqual({ ...expected, fields: "name,state,capacity", format: "csv" });
  expect(machinesQuerySchema.safeParse(parameters).success).toBe(true);
});

it.each(["?outage=3", "?outage=3&q=site%3Db"])("%s → the API has no words for it", (search) => {
  expect(pathOf(search)).toBeNull();
});

it("all columns → each field once, and none that the API does not have", () => {
  const path = pathOf("", FLEET_COLUMNS);
  const fields = new URL(path!, "https://page.test").searchParams.get("fields")!.split(",");
  expect(new Set(fields).size).toBe(fields.length);
  expect(MACHINE_FIELDS).toEqual(expect.arrayContaining(fields));
});
