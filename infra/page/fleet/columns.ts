// The table's columns: what they are called, what they are ordered by, and which of them are shown. Draws nothing.
import { MACHINE_FIELDS, MACHINE_SORTS } from "../../../shared/fleet/machine-fields.ts";
import { FLEET_STATES } from "../../../shared/fleet/state.ts";
import { wrongConditions } from "../../../shared/fleet/well-conditions.ts";
import { isRoleLabel } from "../../../shared/kubernetes/roles.ts";
import { QUEUE_LABEL, QUEUE_REGION } from "../../../shared/node/ownership.ts";
import { apiQuery, type FleetQuery, type FleetSort } from "./fleet-query.ts";
import type { FleetSearch } from "./search-terms.ts";

interface ColumnShape {
  title: string;
  /** Absent: the table is not ordered by it. */
  sort?: FleetSort;
  /** In rem; absent: what is left. */
  width?: number;
  /** Is it shown to whoever has not chosen? */
  isUsual?: true;
  isNumber?: true;
  /** Of GET /v1/machines. */
  fields: readonly string[];
  /** Where the title does not say it all. */
  hint?: string;
}

/** In the order in which they stand; `name` is always there. */
const SHAPES = {
  name: { title: "Name", sort: "name", width: 13.5, isUsual: true, fields: ["name"] },
  state: {
    title: "State",
    sort: "state",
    width: 10.5,
    isUsual: true,
    fields: ["state"],
    hint: "Ordered by what has to be looked at first",
  },
  since: {
    title: "Since",
    sort: "since",
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
  why: { title: "Why", sort: "why", isUsual: true, fields: ["why"], hint: "Why it is not ready" },
  version: {
    title: "Version",
    sort: "version",
    width: 6,
    isUsual: true,
    fields: ["versions"],
    hint: "Of the shim, which reports for the machine",
  },
  address: {
    title: "Address",
    sort: "address",
    width: 9,
    isUsual: true,
    fields: ["address"],
    hint: "From which it reports",
  },
  age: {
    title: "Age",
    sort: "age",
    width: 4.5,
    isUsual: true,
    fields: ["created"],
    hint: "Since its Node was created",
  },
  skew: {
    title: "Clock",
    sort: "skew",
    width: 6,
    isNumber: true,
    fields: ["skewMs"],
    hint: "How far its clock is ahead, where that is more than a minute",
  },
  transport: {
    title: "Transport",
    sort: "transport",
    width: 6.5,
    fields: ["transport"],
    hint: "How it reports",
  },
  roles: { title: "Roles", width: 8, fields: ["labels"] },
  labels: { title: "Labels", width: 20, fields: ["labels"] },
  kernel: { title: "Kernel", sort: "kernel", width: 11, fields: ["versions"] },
  os: { title: "Operating system", sort: "os", width: 15, fields: ["versions"] },
  runtime: { title: "Runtime", sort: "runtime", width: 12, fields: ["versions"], hint: "Runs containers" },
  architecture: { title: "Architecture", sort: "architecture", width: 8, fields: ["versions"] },
  cpu: { title: "CPU", sort: "cpu", width: 4.5, isNumber: true, fields: ["capacity"], hint: "Capacity" },
  memory: {
    title: "Memory",
    sort: "memory",
    width: 6,
    isNumber: true,
    fields: ["capacity"],
    hint: "Capacity",
  },
} satisfies Record<string, ColumnShape>;

export type FleetColumnName = keyof typeof SHAPES;
export type FleetColumn = ColumnShape & { name: FleetColumnName };

export const FLEET_COLUMNS: readonly FleetColumn[] = Object.entries(SHAPES).map(
  ([name, shape]: [string, ColumnShape]) => ({ ...shape, name: name as FleetColumnName }),
);

/** What `columnsText` made; null, or nothing that is known: the usual ones. */
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

/** With it, or without it where it was there; their order is always the same. */
export function columnToggled(
  columns: readonly FleetColumn[],
  name: FleetColumnName,
): readonly FleetColumn[] {
  const isShown = columns.some((column) => column.name === name);
  return FLEET_COLUMNS.filter((column) =>
    column.name === name ? !isShown : columns.some((each) => each.name === column.name),
  );
}

interface AmissCondition {
  type: string;
  status: string;
}

/** Those that are not as they should be. What is unknown comes last, and of that Ready, as all silent machines have it. */
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

/** Of a Node's labels, as kubectl's column ROLES has them. */
export function rolesOf(labels: Readonly<Record<string, string>>): string[] {
  const roles = Object.entries(labels)
    .filter(([key]) => isRoleLabel(key))
    .map(([key, value]) => (key === "kubernetes.io/role" ? value : key.slice(key.indexOf("/") + 1)));
  return [...new Set(roles.filter((role) => role !== ""))].sort();
}

/** What each Node has, or what its host and platform are. A zone and a region are not among them. */
const EVERY_NODES =
  /^(?:(?:beta\.)?kubernetes\.io|rollcall\.dev|node\.kubernetes\.io\/exclude-[a-z-]+)(?:\/|$)(?!zone$|region$)/;

/** Those that describe this machine alone. */
export function ownLabels(labels: Readonly<Record<string, string>>): [key: string, value: string][] {
  return Object.entries(labels).filter(
    ([key, value]) =>
      !EVERY_NODES.test(key) && !isRoleLabel(key) && !(key === QUEUE_LABEL && value === QUEUE_REGION),
  );
}

// Where the machines that match are to be had as CSV: the API's own list, with the columns that are shown. Asks nothing.

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
