// Defines each kind's own columns of `kubectl get`. Mirrors kubernetes/pkg/printers/internalversion.
import { humanDuration } from "../../../../shared/kubernetes/human-duration.ts";
import { withCoreNames } from "../kinds/event-versions.ts";
import { fieldsOf, type ListItem, listOf, textOf } from "../object.ts";
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

export const namespaceColumns: Column[] = [
  nameColumn,
  column("Status", (object) => textOf(fieldsOf(object["status"])["phase"])),
  age,
];

export const configMapColumns: Column[] = [
  nameColumn,
  column("Data", (object) =>
    ["data", "binaryData"].reduce((sum, field) => sum + Object.keys(fieldsOf(object[field])).length, 0),
  ),
  age,
];

function servicePorts(service: ListItem): string {
  const ports = listOf(fieldsOf(service["spec"])["ports"]).map(fieldsOf);
  return ports.map(({ port, protocol }) => `${Number(port)}/${textOf(protocol)}`).join(",");
}

/** The columns for a Service of the type ClusterIP without a selector. */
export const serviceColumns: Column[] = [
  nameColumn,
  column("Type", (service) => textOf(fieldsOf(service["spec"])["type"])),
  column("Cluster-IP", (service) => textOf(fieldsOf(service["spec"])["clusterIP"])),
  column("External-IP", () => "<none>"),
  column("Port(s)", servicePorts),
  age,
  wide("Selector", () => "<none>"),
];

export const secretColumns: Column[] = [
  nameColumn,
  column("Type", (object) => textOf(object["type"])),
  column("Data", (object) => Object.keys(fieldsOf(object["data"])).length),
  age,
];

function nodeState(node: ListItem): string {
  const ready = listOf(fieldsOf(node["status"])["conditions"])
    .map(fieldsOf)
    .find((condition) => condition["type"] === "Ready");
  const readiness = ready?.["status"] === "True" ? "Ready" : "NotReady";
  const state = ready ? readiness : "Unknown";
  return fieldsOf(node["spec"])["unschedulable"] === true ? `${state},SchedulingDisabled` : state;
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

function nodeAddress(node: ListItem, type: string): string {
  const address = listOf(fieldsOf(node["status"])["addresses"])
    .map(fieldsOf)
    .find((address) => address["type"] === type);
  return address ? textOf(address["address"]) : "<none>";
}

function nodeInfo(node: ListItem, field: string): string {
  return textOf(fieldsOf(fieldsOf(node["status"])["nodeInfo"])[field]);
}

function kernelVersion(node: ListItem): string {
  const architecture = nodeInfo(node, "architecture");
  const version = nodeInfo(node, "kernelVersion") || "<unknown>";
  return architecture === "" ? version : `${version} (${architecture})`;
}

export const nodeColumns: Column[] = [
  nameColumn,
  column("Status", nodeState),
  column("Roles", nodeRoles),
  age,
  column("Version", (node) => nodeInfo(node, "kubeletVersion")),
  wide("Internal-IP", (node) => nodeAddress(node, "InternalIP")),
  wide("External-IP", (node) => nodeAddress(node, "ExternalIP")),
  wide("OS-Image", (node) => nodeInfo(node, "osImage") || "<unknown>"),
  wide("Kernel-Version", kernelVersion),
  wide("Container-Runtime", (node) => nodeInfo(node, "containerRuntimeVersion") || "<unknown>"),
];

export const leaseColumns: Column[] = [
  nameColumn,
  column("Holder", (lease) => textOf(fieldsOf(lease["spec"])["holderIdentity"])),
  age,
];

function firstSeen(event: ListItem, now: Date): string {
  return ageOf(event["firstTimestamp"] ?? event["eventTime"], now);
}

function lastSeen(event: ListItem, now: Date): string {
  const series = fieldsOf(event["series"]);
  if (event["series"]) return ageOf(series["lastObservedTime"], now);
  return event["lastTimestamp"] ? ageOf(event["lastTimestamp"], now) : firstSeen(event, now);
}

function eventTarget(event: ListItem): string {
  const { kind, name } = fieldsOf(event["involvedObject"]);
  const target = textOf(kind).toLowerCase();
  return name ? `${target}/${textOf(name)}` : target;
}

/** Returns the source of an event as text. Mirrors formatEventSource. */
function eventSource(event: ListItem): string {
  const source = fieldsOf(event["source"]);
  const component = textOf(source["component"]) || textOf(event["reportingComponent"]);
  const instance = textOf(source["host"]) || textOf(event["reportingInstance"]);
  return instance === "" ? component : `${component}, ${instance}`;
}

function eventCount(event: ListItem): number {
  const count = event["series"] ? fieldsOf(event["series"])["count"] : event["count"];
  return typeof count === "number" ? count : 1;
}

export const eventColumns: Column[] = [
  column("Last Seen", lastSeen),
  column("Type", (event) => textOf(event["type"])),
  column("Reason", (event) => textOf(event["reason"])),
  column("Object", eventTarget),
  wide("Subobject", (event) => textOf(fieldsOf(event["involvedObject"])["fieldPath"])),
  wide("Source", eventSource),
  column("Message", (event) => textOf(event["message"]).trim()),
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
