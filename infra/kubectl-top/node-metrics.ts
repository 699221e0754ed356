// Makes the NodeMetrics of rollcall's Nodes as metrics-server makes those of kubelets, and merges both lists. Pure.
import { newMilliQuantity, newQuantity } from "../../shared/kubernetes/quantity/quantity.ts";
import { quantityText } from "../../shared/kubernetes/quantity/text.ts";
import type { ObjectMeta } from "../../shared/kubernetes/types.ts";
import type { MachineUsage } from "../../shared/protocol/fleet-answers.ts";

const API_VERSION = "metrics.k8s.io/v1beta1";

/** The metadata of a Node that NodeMetrics repeat. */
export interface NodeMetadata {
  name: string;
  labels?: Record<string, string>;
}

export interface NodeMetrics {
  kind?: "NodeMetrics";
  apiVersion?: typeof API_VERSION;
  metadata: Partial<ObjectMeta>;
  timestamp: string;
  /** The time between the two totals from which the rate follows, as Go prints it: `1m0s`. */
  window: string;
  usage: Record<string, string>;
}

/** The parts of metrics-server's list that are passed on. */
export interface NodeMetricsList {
  metadata?: object;
  items: NodeMetrics[] | null;
}

/** The time between two usage frames, for a Worker that does not send it. */
const USUAL_WINDOW_SECONDS = 60;

/**
 * Returns the NodeMetrics of a Node. null without a rate or a working set, as metrics-server omits such Nodes, and for
 * amounts that no machine has, because a client that cannot read one item would lose the whole list.
 */
export function nodeMetrics(node: NodeMetadata, usage: MachineUsage, nowMs: number): NodeMetrics | null {
  const milliCpus = Math.round(1000 * (usage.cpuUsed ?? NaN));
  const memoryBytes = Math.round(usage.memoryWorkingSetBytes ?? NaN);
  if (![milliCpus, memoryBytes].every((amount) => Number.isSafeInteger(amount) && amount >= 0)) return null;
  const { name, labels } = node;
  return {
    metadata: { name, creationTimestamp: secondsText(nowMs), ...(labels && { labels }) },
    timestamp: secondsText(Date.parse(usage.at)),
    window: durationText(usage.windowSeconds ?? USUAL_WINDOW_SECONDS),
    usage: {
      cpu: quantityText(newMilliQuantity(milliCpus, "DecimalSI")),
      memory: quantityText(newQuantity(memoryBytes, "BinarySI")),
    },
  };
}

const secondsText = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

/** Returns a duration as Go prints it. */
function durationText(duration: number): string {
  const ms = Math.round(1000 * duration);
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    (ms % 60_000) / 1000,
  ];
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/**
 * Merges the NodeMetrics of our Nodes into metrics-server's list, in its order: by name. `ours` has all our Nodes that
 * match: an item of metrics-server for one of them gives way, also if the machine sends no usage.
 */
export function merged(
  own: readonly NodeMetrics[],
  ours: readonly NodeMetadata[],
  others: readonly NodeMetrics[],
): NodeMetrics[] {
  const names = new Set(ours.map(({ name }) => name));
  const foreign = others.filter(({ metadata }) => !names.has(metadata.name ?? ""));
  return [...own, ...foreign].toSorted((a, b) =>
    (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1,
  );
}

/** The form of an answer that a client accepts: objects, or the table of `kubectl get`. */
export type Form = { kind: "object" } | { kind: "table"; version: "v1" | "v1beta1"; includeObject: string };

/**
 * Returns the first form that the client accepts and that this program makes. null for protobuf alone and the like:
 * then metrics-server's answer is passed on without our Nodes.
 */
export function formOf(accept: string | undefined, includeObject: string | null): Form | null {
  for (const range of (accept ?? "*/*").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (!["application/json", "application/*", "*/*"].includes(type)) continue;
    const { as, v, g } = Object.fromEntries(parameters.map((each) => each.split("="))) as Record<
      string,
      string
    >;
    if (as === undefined) return { kind: "object" };
    if (as === "Table" && g === "meta.k8s.io" && (v === "v1" || v === "v1beta1"))
      return { kind: "table", version: v, includeObject: includeObject ?? "Metadata" };
  }
  return null;
}

/** Returns the items as the client accepts them. `name`: the client asked for one Node. */
export function inForm(items: readonly NodeMetrics[], form: Form, list: NodeMetricsList | "one"): object {
  if (form.kind === "table") return tableOf(items, form);
  const typed = { kind: "NodeMetrics", apiVersion: API_VERSION } as const;
  if (list === "one") return { ...typed, ...items[0] };
  return { kind: "NodeMetricsList", apiVersion: API_VERSION, metadata: list.metadata ?? {}, items };
}

/** Returns the table of metrics-server (addNodeMetricsToTable), whose columns follow from the first row. */
function tableOf(
  items: readonly NodeMetrics[],
  { version, includeObject }: Form & { kind: "table" },
): object {
  const apiVersion = `meta.k8s.io/${version}`;
  const resources = Object.keys(items[0]?.usage ?? {}).toSorted();
  const column = (name: string, format: string, description = "") => {
    return { name, type: "string", format, description, priority: 0 };
  };
  const objectOf = (item: NodeMetrics) => {
    if (includeObject === "None") return {};
    const { metadata } = item;
    if (includeObject === "Object")
      return { object: { kind: "NodeMetrics", apiVersion: API_VERSION, ...item } };
    return { object: { kind: "PartialObjectMetadata", apiVersion, metadata } };
  };
  return {
    kind: "Table",
    apiVersion,
    metadata: {},
    columnDefinitions:
      items.length === 0
        ? []
        : [
            column("Name", "name", "Name of the resource"),
            ...resources.map((name) => column(name, "quantity")),
            column("Window", "duration"),
          ],
    rows: items.map((item) => ({
      cells: [item.metadata.name, ...resources.map((name) => item.usage[name] ?? "0"), item.window],
      ...objectOf(item),
    })),
  };
}
