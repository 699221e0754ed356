// Defines each kind's own columns of `kubectl get`. Mirrors kubernetes/pkg/printers/internalversion.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import { humanDuration } from "../../../../shared/kubernetes/human-duration.ts";
import { withCoreNames } from "../kinds/event-versions.ts";
import { fieldsOf, type ListItem, listOf, textAt, textOf, valueAt } from "../object.ts";
import type { Column } from "../resource-type.ts";

export const nameColumn: Column = {
  name: "Name",
  type: "string",
  format: "name",
  cell: (object) => object.metadata.name ?? "",
};

const age: Column = {
  name: "Age",
  type: "string",
  cell: (object, now) => ageOf(object.metadata.creationTimestamp, now),
};

/** The columns of kinds without columns of their own. Mirrors rest.NewDefaultTableConvertor. */
export const defaultColumns: Column[] = [
  nameColumn,
  { name: "Created At", type: "date", cell: (object) => object.metadata.creationTimestamp ?? "" },
];

export const nameAndAge: Column[] = [nameColumn, age];

function column(name: string, cell: Column["cell"]): Column {
  return { name, type: "string", cell };
}

function wide(name: string, cell: Column["cell"]): Column {
  return { name, type: "string", priority: 1, cell };
}

/** Returns a cell with the text at a path of fields, or `unset` without it. */
function text(path: string, unset = ""): Column["cell"] {
  return (object) => textAt(object, path) || unset;
}

export const namespaceColumns: Column[] = [nameColumn, column("Status", text("status.phase")), age];

export const configMapColumns: Column[] = [
  nameColumn,
  column("Data", (object) =>
    ["data", "binaryData"].reduce((sum, field) => sum + Object.keys(fieldsOf(object[field])).length, 0),
  ),
  age,
];

function servicePorts(service: ListItem): string {
  const ports = listOf(valueAt(service, "spec.ports")).map(fieldsOf);
  return ports.map(({ port, protocol }) => `${Number(port)}/${textOf(protocol)}`).join(",");
}

/** The columns for a Service of the type ClusterIP without a selector. */
export const serviceColumns: Column[] = [
  nameColumn,
  column("Type", text("spec.type")),
  column("Cluster-IP", text("spec.clusterIP")),
  column("External-IP", () => "<none>"),
  column("Port(s)", servicePorts),
  age,
  wide("Selector", () => "<none>"),
];

export const secretColumns: Column[] = [
  nameColumn,
  column("Type", text("type")),
  column("Data", (object) => Object.keys(fieldsOf(object["data"])).length),
  age,
];

/** Returns the item of a list that has this type. */
function ofType(object: ListItem, list: string, type: string): JsonObject | undefined {
  const items = listOf(valueAt(object, list)).map(fieldsOf);
  return items.find((item) => item["type"] === type);
}

function nodeState(node: ListItem): string {
  const ready = ofType(node, "status.conditions", "Ready");
  const readiness = ready?.["status"] === "True" ? "Ready" : "NotReady";
  const state = ready ? readiness : "Unknown";
  return valueAt(node, "spec.unschedulable") === true ? `${state},SchedulingDisabled` : state;
}

/** Returns a Node's roles from node-role.kubernetes.io/<role> and kubernetes.io/role. Mirrors findNodeRoles. */
function nodeRoles(node: ListItem): string {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.entries(node.metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(prefix)) return key.slice(prefix.length);
    return key === "kubernetes.io/role" ? value : "";
  });
  return [...new Set(roles.filter((role) => role !== ""))].sort().join(",") || "<none>";
}

function address(type: string): Column["cell"] {
  return (node) => {
    const found = ofType(node, "status.addresses", type);
    return found ? textOf(found["address"]) : "<none>";
  };
}

const nodeInfo = "status.nodeInfo";

function kernelVersion(node: ListItem): string {
  const architecture = textAt(node, `${nodeInfo}.architecture`);
  const version = textAt(node, `${nodeInfo}.kernelVersion`) || "<unknown>";
  return architecture === "" ? version : `${version} (${architecture})`;
}

export const nodeColumns: Column[] = [
  nameColumn,
  column("Status", nodeState),
  column("Roles", nodeRoles),
  age,
  column("Version", text(`${nodeInfo}.kubeletVersion`)),
  wide("Internal-IP", address("InternalIP")),
  wide("External-IP", address("ExternalIP")),
  wide("OS-Image", text(`${nodeInfo}.osImage`, "<unknown>")),
  wide("Kernel-Version", kernelVersion),
  wide("Container-Runtime", text(`${nodeInfo}.containerRuntimeVersion`, "<unknown>")),
];

export const leaseColumns: Column[] = [nameColumn, column("Holder", text("spec.holderIdentity")), age];

function firstSeen(event: ListItem, now: Date): string {
  return ageOf(event["firstTimestamp"] ?? event["eventTime"], now);
}

function lastSeen(event: ListItem, now: Date): string {
  if (event["series"]) return ageOf(valueAt(event, "series.lastObservedTime"), now);
  return event["lastTimestamp"] ? ageOf(event["lastTimestamp"], now) : firstSeen(event, now);
}

function eventTarget(event: ListItem): string {
  const { kind, name } = fieldsOf(event["involvedObject"]);
  const target = textOf(kind).toLowerCase();
  return name ? `${target}/${textOf(name)}` : target;
}

/** Returns the source of an event as text. Mirrors formatEventSource. */
function eventSource(event: ListItem): string {
  const component = textAt(event, "source.component") || textAt(event, "reportingComponent");
  const instance = textAt(event, "source.host") || textAt(event, "reportingInstance");
  return instance === "" ? component : `${component}, ${instance}`;
}

function eventCount(event: ListItem): number {
  const count = valueAt(event, event["series"] ? "series.count" : "count");
  return typeof count === "number" ? count : 1;
}

export const eventColumns: Column[] = [
  column("Last Seen", lastSeen),
  column("Type", text("type")),
  column("Reason", text("reason")),
  column("Object", eventTarget),
  wide("Subobject", text("involvedObject.fieldPath")),
  wide("Source", eventSource),
  column("Message", (event) => textAt(event, "message").trim()),
  wide("First Seen", firstSeen),
  wide("Count", eventCount),
  { ...nameColumn, priority: 1 },
];

export const eventsV1Columns: Column[] = eventColumns.map((each) => ({
  ...each,
  cell: (event, now) => each.cell(withCoreNames(event), now),
}));

/** Returns the age of a timestamp, or "<unknown>" if `timestamp` is no text. */
export function ageOf(timestamp: unknown, now: Date): string {
  if (typeof timestamp !== "string" || timestamp === "") return "<unknown>";
  return humanDuration(now.getTime() - Date.parse(timestamp));
}
