// Defines the columns of the table of machines: titles, orders, the operator's choice, and the CSV.
import { MACHINE_FIELDS, MACHINE_SORTS } from "../../../shared/fleet/machine-fields.ts";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import { wrongConditions } from "../../../shared/fleet/well-conditions.ts";
import { isRoleLabel } from "../../../shared/kubernetes/roles.ts";
import { QUEUE_LABEL, QUEUE_REGION } from "../../../shared/node/ownership.ts";
import { apiQuery, FLEET_SORTS, type FleetQuery, type FleetSort } from "./fleet-query.ts";
import type { FleetSearch } from "../../../shared/fleet/search-language.ts";

interface ColumnShape {
  title: string;
  /** The width in rem. Without it, the column has the remaining width. */
  width?: number;
  isUsual?: true;
  isNumber?: true;
  /** The fields of GET /v1/machines that the column needs. */
  fields: readonly string[];
  hint?: string;
}

/** The columns in the order of the table. The column `name` is always shown. */
const SHAPES = {
  name: { title: "Name", width: 13.5, isUsual: true, fields: ["name"] },
  state: {
    title: "State",
    width: 10.5,
    isUsual: true,
    fields: ["state"],
    hint: "Ordered by what has to be looked at first",
  },
  since: {
    title: "Since",
    width: 4.75,
    isUsual: true,
    fields: ["since"],
    hint: "For how long it is in this state",
  },
  conditions: {
    title: "Conditions",
    width: 10.5,
    isUsual: true,
    fields: ["conditions"],
    hint: "Those that are not as they should be",
  },
  why: { title: "Why", isUsual: true, fields: ["why"], hint: "Why it is not ready" },
  version: {
    title: "Version",
    width: 6,
    isUsual: true,
    fields: ["versions"],
    hint: "Of the shim, which reports for the machine",
  },
  address: { title: "Address", width: 9, isUsual: true, fields: ["address"], hint: "From which it reports" },
  age: { title: "Age", width: 4.5, isUsual: true, fields: ["created"], hint: "Since its Node was created" },
  skew: {
    title: "Clock",
    width: 6,
    isNumber: true,
    fields: ["skewMs"],
    hint: "How far its clock is ahead, where that is more than a minute",
  },
  transport: { title: "Transport", width: 6.5, fields: ["transport"], hint: "How it reports" },
  roles: { title: "Roles", width: 8, fields: ["labels"] },
  labels: { title: "Labels", width: 20, fields: ["labels"] },
  kernel: { title: "Kernel", width: 11, fields: ["versions"] },
  os: { title: "Operating system", width: 15, fields: ["versions"] },
  runtime: { title: "Runtime", width: 12, fields: ["versions"], hint: "Runs containers" },
  architecture: { title: "Architecture", width: 8, fields: ["versions"] },
  cpu: { title: "CPU", width: 4.5, isNumber: true, fields: ["capacity"], hint: "Capacity" },
  memory: { title: "Memory", width: 6, isNumber: true, fields: ["capacity"], hint: "Capacity" },
} satisfies Record<string, ColumnShape>;

export type FleetColumnName = keyof typeof SHAPES;
/** A column. `sort` is undefined if the table cannot be sorted by the column. */
export type FleetColumn = ColumnShape & { name: FleetColumnName; sort: FleetSort | undefined };

export const FLEET_COLUMNS: readonly FleetColumn[] = Object.entries(SHAPES).map(
  ([name, shape]: [string, ColumnShape]) => ({
    ...shape,
    name: name as FleetColumnName,
    sort: FLEET_SORTS.find((each) => each === name),
  }),
);

/** Parses a text of `columnsText`. Returns the default columns if the text is null or has no known name. */
export function columnsOf(kept: string | null): readonly FleetColumn[] {
  const names = (kept ?? "").split(",");
  const chosen = FLEET_COLUMNS.filter(({ name }) => names.includes(name));
  return chosen.length === 0
    ? FLEET_COLUMNS.filter(({ isUsual }) => isUsual)
    : FLEET_COLUMNS.filter((column) => column.name === "name" || chosen.includes(column));
}

export function columnsText(columns: readonly FleetColumn[]): string {
  return columns.map(({ name }) => name).join();
}

/** Adds a column to the shown columns, or removes it. The order of columns is fixed. */
export function columnToggled(
  columns: readonly FleetColumn[],
  name: FleetColumnName,
): readonly FleetColumn[] {
  const isShown = columns.some((column) => column.name === name);
  return FLEET_COLUMNS.filter((column) => (column.name === name ? !isShown : columns.includes(column)));
}

interface AmissCondition {
  type: string;
  status: string;
}

/** Returns the conditions with an abnormal status: Unknown after others, and an Unknown Ready last of all. */
export function amissConditions(conditions: Readonly<Record<string, string>>): AmissCondition[] {
  return wrongConditions(conditions).sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ type, status }: AmissCondition): number {
  if (status === "Unknown") return type === "Ready" ? 3 : 2;
  return type === "Ready" ? 0 : 1;
}

/** Returns a condition as text: `not Ready`, `MemoryPressure`, `DiskPressure unknown`. */
export function conditionText({ type, status }: AmissCondition): string {
  if (status === "Unknown") return `${type} unknown`;
  return type === "Ready" ? "not Ready" : type;
}

/** Returns the roles in a Node's labels, as kubectl's column ROLES lists them. */
export function rolesOf(labels: Readonly<Record<string, string>>): string[] {
  const roles = Object.entries(labels)
    .filter(([key]) => isRoleLabel(key))
    .map(([key, value]) => (key === "kubernetes.io/role" ? value : key.slice(key.indexOf("/") + 1)));
  return [...new Set(roles.filter((role) => role !== ""))].sort();
}

/** Matches the labels that every Node has: its host and platform. Zone and region do not match. */
const EVERY_NODES =
  /^(?:(?:beta\.)?kubernetes\.io|rollcall\.dev|node\.kubernetes\.io\/exclude-[a-z-]+)(?:\/|$)(?!zone$|region$)/;

/** Returns the labels that describe this machine, and not every Node. */
export function ownLabels(labels: Readonly<Record<string, string>>): [key: string, value: string][] {
  return Object.entries(labels).filter(
    ([key, value]) =>
      !EVERY_NODES.test(key) && !isRoleLabel(key) && !(key === QUEUE_LABEL && value === QUEUE_REGION),
  );
}

/** The states of machines in the table. Machines that wait for an approval are not in it. */
const ENROLLED = FLEET_STATES.filter((state) => state !== "pending").join();

/** Returns the path and query of the CSV, or null if the API cannot express the filter. */
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
  const request = new URLSearchParams({
    state: ENROLLED,
    ...parameters,
    ...(by && { sort: `${query.isDescending ? "-" : ""}${by}` }),
    fields,
    format: "csv",
  });
  return `/v1/machines?${request}`;
}
