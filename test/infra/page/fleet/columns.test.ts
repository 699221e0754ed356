import { describe, expect, it } from "vitest";
import { routeOf } from "../../../../infra/page/base/places.ts";
import {
  amissConditions,
  columnsOf,
  columnsText,
  columnToggled,
  conditionText,
  csvPath,
  FLEET_COLUMNS,
  ownLabels,
  rolesOf,
} from "../../../../infra/page/fleet/columns.ts";
import { fleetQueryOf } from "../../../../infra/page/fleet/fleet-query.ts";
import { readSearch } from "../../../../shared/fleet/search-language.ts";
import { MACHINE_FIELDS } from "../../../../shared/fleet/machine-fields.ts";
import { machinesQuerySchema } from "../../../../shared/protocol/fleet-api.ts";

const USUAL = "name,state,since,conditions,why,version,address,age";

describe("the columns that were chosen", () => {
  it.each([
    [null, USUAL],
    ["", USUAL],
    ["beauty", USUAL],
    ["state,name", "name,state"],
    ["memory,cpu", "name,cpu,memory"],
    ["name,beauty", "name"],
  ])("%s", (kept, expected) => {
    expect(columnsText(columnsOf(kept))).toBe(expected);
  });

  it("one more, one less → always in their order", () => {
    const less = columnToggled(columnsOf(null), "state");
    expect(columnsText(less)).toBe(USUAL.replace("state,", ""));
    expect(columnsText(columnToggled(less, "state"))).toBe(USUAL);
    expect(columnToggled([], "cpu").map(({ name }) => name)).toEqual(["cpu"]);
  });

  it("one is left over for what is as long as it is", () => {
    expect(FLEET_COLUMNS.filter(({ width }) => width === undefined).map(({ name }) => name)).toEqual(["why"]);
  });
});

describe("conditions that are not as they should be", () => {
  it.each<[Record<string, string>, string]>([
    [{ Ready: "True", MemoryPressure: "False" }, ""],
    [{}, ""],
    [{ Ready: "False" }, "not Ready"],
    [{ Ready: "Unknown" }, "Ready unknown"],
    [{ MemoryPressure: "True", Ready: "False" }, "not Ready, MemoryPressure"],
    [{ MemoryPressure: "True", Ready: "Unknown" }, "MemoryPressure, Ready unknown"],
    [{ DiskPressure: "Unknown", Ready: "Unknown" }, "DiskPressure unknown, Ready unknown"],
    [{ NetworkUnavailable: "True", DropInsFailed: "True" }, "DropInsFailed, NetworkUnavailable"],
    [{ RaidDegraded: "True", GpuFailed: "False" }, "RaidDegraded"],
    [{ RaidDegraded: "Unknown" }, "RaidDegraded unknown"],
    [{ toString: "False" }, ""],
  ])("%j", (conditions, expected) => {
    expect(amissConditions(conditions).map(conditionText).join(", ")).toBe(expected);
  });
});

it("roles, as kubectl has them", () => {
  const labels = {
    "node-role.kubernetes.io/edge": "",
    "node-role.kubernetes.io/": "",
    "kubernetes.io/role": "worker",
    site: "b",
  };
  expect(rolesOf(labels)).toEqual(["edge", "worker"]);
  const ofEachNode = {
    "kubernetes.io/arch": "amd64",
    "rollcall.dev/machine": "",
    "rollcall.dev/hostname": "edge-7",
    "node.kubernetes.io/exclude-disruption": "",
    "node.kubernetes.io/exclude-from-external-load-balancers": "true",
    "failure-domain.beta.kubernetes.io/region": "rollcall.dev",
  };
  const ofThis = { site: "b", "rollcall.dev/zone": "oslo", "node.kubernetes.io/instance-type": "nuc" };
  expect(Object.fromEntries(ownLabels({ ...labels, ...ofEachNode, ...ofThis }))).toEqual(ofThis);
});

function pathOf(search: string, columns = columnsOf("name,state,cpu")): string | null {
  const query = fleetQueryOf(routeOf(search).rest);
  const read = readSearch(query.text, 0);
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
