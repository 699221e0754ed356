// The table's columns: their titles and orders, which of them are shown, and the CSV with the same columns.
import { MACHINE_FIELDS, MACHINE_SORTS } from "../../../shared/fleet/machine-fields.ts";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import { wrongConditions } from "../../../shared/fleet/well-conditions.ts";
import { isRoleLabel } from "../../../shared/kubernetes/roles.ts";
import { QUEUE_LABEL, QUEUE_REGION } from "../../../shared/node/ownership.ts";
import { apiQuery, FLEET_SORTS, type FleetQuery, type FleetSort } from "./fleet-query.ts";
import type { FleetSearch } from "./search-grammar.ts";

interface ColumnShape {
  title: string;
  /** In rem; absent: the remaining width. */
  width?: number;
  isUsual?: true;
  isNumber?: true;
  /** Of GET /v1/machines. */
  fields: readonly string[];
  hint?: string;
}

/** In the order of the table; `name` is always shown. */
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
/** `sort`: absent if the table cannot be sorted by it. */
export type FleetColumn = ColumnShape & { name: FleetColumnName; sort: FleetSort | undefined };

export const FLEET_COLUMNS: readonly FleetColumn[] = Object.entries(SHAPES).map(
  ([name, shape]: [string, ColumnShape]) => ({
    ...shape,
    name: name as FleetColumnName,
    sort: FLEET_SORTS.find((each) => each === name),
  }),
);

/** Parses a text of `columnsText`; the default columns if it is null or has no known name. */
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

/** Adds or removes a column; the order of columns is fixed. */
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

/**
 * Lists conditions that differ from their normal status. Unknown ones come last, Ready last of all: all silent machines have
 * it.
 */
export function amissConditions(conditions: Readonly<Record<string, string>>): AmissCondition[] {
  return wrongConditions(conditions).sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ type, status }: AmissCondition): number {
  if (status === "Unknown") return type === "Ready" ? 3 : 2;
  return type === "Ready" ? 0 : 1;
}

/** `not Ready`, `MemoryPressure`, `DiskPressure unknown` */
export function conditionText({ type, status }: AmissCondition): string {
  if (status === "Unknown") return `${type} unknown`;
  return type === "Ready" ? "not Ready" : type;
}

/** Lists roles from a Node's labels, as kubectl's column ROLES does. */
export function rolesOf(labels: Readonly<Record<string, string>>): string[] {
  const roles = Object.entries(labels)
    .filter(([key]) => isRoleLabel(key))
    .map(([key, value]) => (key === "kubernetes.io/role" ? value : key.slice(key.indexOf("/") + 1)));
  return [...new Set(roles.filter((role) => role !== ""))].sort();
}

/** Labels of every Node, its host and its platform; zone and region are not among them. */
const EVERY_NODES =
  /^(?:(?:beta\.)?kubernetes\.io|rollcall\.dev|node\.kubernetes\.io\/exclude-[a-z-]+)(?:\/|$)(?!zone$|region$)/;

/** Lists the labels that describe this machine alone. */
export function ownLabels(labels: Readonly<Record<string, string>>): [key: string, value: string][] {
  return Object.entries(labels).filter(
    ([key, value]) =>
      !EVERY_NODES.test(key) && !isRoleLabel(key) && !(key === QUEUE_LABEL && value === QUEUE_REGION),
  );
}

/** The table has no machines that wait for an approval. */
const ENROLLED = FLEET_STATES.filter((state) => state !== "pending").join();

/** Returns the path and query of the CSV; null if the API cannot express the filter. */
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
