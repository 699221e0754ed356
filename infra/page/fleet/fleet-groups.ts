// Groups machines by a label, a role or a version, and sums what the machines of a group have. Pure.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { amountOf } from "../base/amounts.ts";
import { ownLabels, rolesOf } from "./columns.ts";

const FACTS = ["version", "kernel", "os", "runtime", "architecture"] as const;
type Fact = (typeof FACTS)[number];

/** What machines are grouped by, as in the URL: a fact, `role`, or `label:KEY`. */
export type GroupBy = Fact | "role" | `label:${string}`;

/** Parses the parameter of the URL. Returns null if the text names no grouping. */
export function groupByOf(text: string | undefined): GroupBy | null {
  if (text === "role") return text;
  if (text?.startsWith("label:") && text.length > "label:".length)
    return `label:${text.slice("label:".length)}`;
  return FACTS.find((fact) => fact === text) ?? null;
}

const TITLES: Readonly<Record<Fact | "role", string>> = {
  role: "Role",
  version: "Shim’s version",
  kernel: "Kernel",
  os: "Operating system",
  runtime: "Runtime",
  architecture: "Architecture",
};

export const groupTitle = (by: GroupBy): string => {
  const named = by === "role" ? by : FACTS.find((fact) => fact === by);
  return named ? TITLES[named] : by.slice("label:".length);
};

/** The most values of a label by which machines are grouped. A label with more values names single machines. */
const MOST_VALUES = 200;

/** Returns the groupings of these machines: their labels by the number of machines that have them, then the facts. */
export function groupChoices(machines: Iterable<FeedMachine>): GroupBy[] {
  const labels = new Map<string, { machines: number; values: Set<string> }>();
  let count = 0;
  for (const machine of machines) {
    count += 1;
    for (const [key, value] of ownLabels(machine.labels)) {
      const label = labels.get(key) ?? { machines: 0, values: new Set() };
      label.machines += 1;
      if (label.values.size <= MOST_VALUES) label.values.add(value);
      labels.set(key, label);
    }
  }
  const most = Math.min(MOST_VALUES, Math.max(1, count - 1));
  const keys = [...labels].filter(([, { values }]) => values.size <= most);
  return [
    ...keys.sort(([, a], [, b]) => b.machines - a.machines).map(([key]): GroupBy => `label:${key}`),
    "role",
    ...FACTS,
  ];
}

export interface FleetGroup {
  /** The value that the machines share. "" for machines without a value. */
  value: string;
  machines: number;
  /** The number of machines that are not ready, of any other state. */
  notReady: number;
  cpus: number;
  memoryBytes: number;
  gpus: number;
  /** The number of machines by version, the most frequent version first. */
  versions: readonly (readonly [version: string, machines: number])[];
  kernels: readonly (readonly [kernel: string, machines: number])[];
}

/** Returns the value by which a machine is grouped; "" for a machine without a value. */
export function groupValue({ labels, versions }: FeedMachine, by: GroupBy): string {
  if (by === "role") return rolesOf(labels).join(", ");
  if (by.startsWith("label:")) return labels[by.slice("label:".length)] ?? "";
  return by === "version" ? versions.shim : versions[by as Exclude<Fact, "version">];
}

/** Returns the groups: those with most machines that are not ready first, and then the largest. */
export function groupsOf(machines: Iterable<FeedMachine>, by: GroupBy): FleetGroup[] {
  const groups = Map.groupBy(machines, (machine) => groupValue(machine, by));
  return [...groups]
    .map(([value, of]) => sumOf(value, of))
    .sort((a, b) => b.notReady - a.notReady || b.machines - a.machines || (a.value < b.value ? -1 : 1));
}

/** Returns the sums of some machines. */
export function sumOf(value: string, machines: readonly FeedMachine[]): FleetGroup {
  const sum = { cpus: 0, memoryBytes: 0, gpus: 0, notReady: 0 };
  for (const { state, capacity } of machines) {
    sum.notReady += Number(state !== "ready");
    sum.cpus += amountOf(capacity["cpu"]) ?? 0;
    sum.memoryBytes += amountOf(capacity["memory"]) ?? 0;
    for (const [resource, amount] of Object.entries(capacity))
      if (IS_GPU.test(resource)) sum.gpus += amountOf(amount) ?? 0;
  }
  return {
    value,
    machines: machines.length,
    ...sum,
    versions: counted(machines.map(({ versions }) => versions.shim)),
    kernels: counted(machines.map(({ versions }) => versions.kernel)),
  };
}

/** Matches `nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915` and `nvidia.com/mig-1g.5gb`. */
const IS_GPU = /(?:^|[./])gpu\b|nvidia\.com\/mig-/i;

const counted = (values: readonly string[]) =>
  [...Map.groupBy(values.filter(Boolean), (value) => value)]
    .map(([value, of]) => [value, of.length] as const)
    .sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));

/** Returns the term of the search for the machines of a group, or null if no term finds exactly them. */
export function groupTerm(by: GroupBy, value: string): string | null {
  if (by.startsWith("label:")) {
    const key = by.slice("label:".length);
    return value === "" ? `!${key}` : `${key}=${value}`;
  }
  if (value === "" || by === "role") return null;
  return by === "version" ? `version:${value}` : `"${value}"`;
}
