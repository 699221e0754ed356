// Validates new and changed Nodes, Leases and Events. Mirrors core/validation.ValidateNode, ValidateNodeUpdate and
// ValidateNodeResources, coordination/validation.ValidateLease, and core/validation/events.go.
import type { JsonObject } from "../../../../shared/kubernetes/json.ts";
import {
  dnsSubdomainErrors,
  labelKeyErrors,
  labelValueErrors,
} from "../../../../shared/kubernetes/validation.ts";
import { withCoreNames } from "../kinds/event-versions.ts";
import { type ApiObject, fieldsOf, listOf, textAt, textOf, valueAt } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import {
  validateCoreMetadata,
  validateCoreMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from "./metadata-rules.ts";

const notNegative = "must be greater than or equal to 0";
const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function validateEffect(path: string, effect: string): FieldError[] {
  if (effect === "") return [field.required(path)];
  return field.when(!taintEffects.includes(effect), field.notSupported(path, effect, taintEffects));
}

/** Returns a taint for an error text. Upstream prints the internal type: Go's field names, in Go's order. */
function printedTaint({ key, value, effect, timeAdded }: JsonObject): JsonObject {
  return { Key: textOf(key), Value: textOf(value), Effect: textOf(effect), TimeAdded: timeAdded ?? null };
}

/** Validates the taints of a Node. The errors name the metadata, like upstream's validateNodeTaints. */
function validateTaints(node: ApiObject): FieldError[] {
  const seen = new Set<string>();
  return listOf(valueAt(node, "spec.taints")).flatMap((item, index) => {
    const path = `metadata.taints[${index}]`;
    const taint = fieldsOf(item);
    const [key = "", value = "", effect = ""] = ["key", "value", "effect"].map((name) => textOf(taint[name]));
    const valueErrors = labelValueErrors(value);
    const identity = `${effect}/${key}`;
    const isRepeated = seen.has(identity);
    seen.add(identity);
    const detail = "taints must be unique by key and effect pair";
    return [
      ...field.allInvalid(`${path}.key`, key, labelKeyErrors(key)),
      ...field.when(valueErrors.length > 0, field.invalid(`${path}.value`, value, valueErrors.join(";"))),
      ...validateEffect(`${path}.effect`, effect),
      ...field.when(isRepeated, field.duplicate(path, printedTaint(taint), detail)),
    ];
  });
}

/** Validates a new Node. Mirrors core/validation.ValidateNode. */
export function validateNode(node: ApiObject): FieldError[] {
  return [
    ...validateCoreMetadata(node.metadata, false, dnsSubdomainErrors),
    ...validateTaints(node),
    ...validateResources(fieldsOf(node["status"])),
  ];
}

function validateAddresses(status: JsonObject): FieldError[] {
  const seen = new Set<string>();
  return listOf(status["addresses"]).flatMap((item, index) => {
    const { type, address } = fieldsOf(item);
    const printed = { Type: textOf(type), Address: textOf(address) };
    const identity = JSON.stringify(printed);
    const isDuplicate = seen.has(identity);
    seen.add(identity);
    return field.when(isDuplicate, field.duplicate(`status.addresses[${index}]`, printed));
  });
}

/** Returns errors for changes of podCIDRs and providerID, which can be set only once. */
function validateFrozen(next: JsonObject, current: JsonObject): FieldError[] {
  const only = (name: string) => `node updates may not change ${name} except from "" to valid`;
  const [oldCidrs, newCidrs] = [listOf(current["podCIDRs"]), listOf(next["podCIDRs"])];
  const differing = oldCidrs.filter((cidr, index) => cidr !== newCidrs[index]);
  // Lists of different lengths are one error.
  const times = oldCidrs.length === newCidrs.length ? differing.length : Math.min(oldCidrs.length, 1);
  const providerId = textOf(current["providerID"]);
  const hasOtherId = providerId !== "" && providerId !== textOf(next["providerID"]);
  return [
    ...Array.from({ length: times }, () => field.forbidden("spec.podCIDRs", only("podCIDR"))),
    ...field.when(hasOtherId, field.forbidden("spec.providerID", only("providerID"))),
  ];
}

/** Validates a changed Node. Mirrors ValidateNode and ValidateNodeUpdate. */
export function validateNodeUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  const status = fieldsOf(next["status"]);
  return [
    ...validateNode(next),
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...validateResources(status),
    ...validateAddresses(status),
    ...validateFrozen(fieldsOf(next["spec"]), fieldsOf(current["spec"])),
    ...validateTaints(next),
  ];
}

const integerResources = new Set(
  (
    "pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims " +
    "services.nodeports services.loadbalancers"
  ).split(" "),
);

/** Returns true for the name of an extended resource. Mirrors helper.IsExtendedResourceName. */
function isExtended(name: string): boolean {
  if (!name.includes("/") || name.includes("kubernetes.io/") || name.startsWith("requests.")) return false;
  return labelKeyErrors(`requests.${name}`).length === 0;
}

/** Returns true if a canonical quantity is not a whole number. */
function hasFraction(quantity: string): boolean {
  return quantity.endsWith("m") || /e-\d+$/.test(quantity);
}

function validateQuantity(path: string, name: string, quantity: string): FieldError[] {
  const isInteger = integerResources.has(name) || isExtended(name);
  return [
    ...field.when(quantity.startsWith("-"), field.invalid(path, quantity, notNegative)),
    ...field.when(isInteger && hasFraction(quantity), field.invalid(path, quantity, "must be an integer")),
  ];
}

function validateResources(status: JsonObject): FieldError[] {
  return ["capacity", "allocatable"].flatMap((list) =>
    Object.entries(fieldsOf(status[list])).flatMap(([name, quantity]) =>
      validateQuantity(`status.${list}.${name}`, name, textOf(quantity)),
    ),
  );
}

/** Validates the spec of a Lease. Mirrors ValidateLeaseSpec. */
function validateSpec(lease: ApiObject): FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = fieldsOf(lease["spec"]);
  const isBelow = (value: unknown, least: number) => typeof value === "number" && value < least;
  return [
    ...field.when(
      isBelow(duration, 1),
      field.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"),
    ),
    ...field.when(isBelow(transitions, 0), field.invalid("spec.leaseTransitions", transitions, notNegative)),
  ];
}

export function validateLease(lease: ApiObject): FieldError[] {
  return [...validateMetadata(lease.metadata, true, dnsSubdomainErrors), ...validateSpec(lease)];
}

export function validateLeaseUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [...validateMetadataUpdate(next.metadata, current.metadata), ...validateSpec(next)];
}

const maxShortBytes = 128;
const maxNoteBytes = 1024;

function namespaceError(event: ApiObject): FieldError[] {
  const involved = textAt(event, "involvedObject.namespace");
  const own = event.metadata.namespace ?? "";
  const isTimed = textOf(event["eventTime"]) !== "";
  const homeless = isTimed ? ["default", "kube-system"] : ["", "default"];
  const agrees = involved === "" ? homeless.includes(own) : isTimed || involved === own;
  const error = field.invalid("involvedObject.namespace", involved, "does not match event.namespace");
  return field.when(!agrees, error);
}

function lengthErrors(event: ApiObject, name: string, maxBytes: number): FieldError[] {
  const isTooLong = Buffer.byteLength(textOf(event[name])) > maxBytes;
  return field.when(isTooLong, field.invalid(name, "", `can have at most ${maxBytes} characters`));
}

function presentErrors(event: ApiObject, name: string, shownName = name): FieldError[] {
  return field.when(textOf(event[name]) === "", field.required(shownName));
}

/** Returns errors for the fields that an event with an eventTime requires. */
function timedErrors(event: ApiObject, controllerName: string): FieldError[] {
  if (textOf(event["eventTime"]) === "") return [];
  const controller = textOf(event["reportingComponent"]);
  const short = ["reportingInstance", "action", "reason"];
  return [
    ...presentErrors(event, "reportingComponent", controllerName),
    ...field.allInvalid(controllerName, controller, labelKeyErrors(controller)),
    ...short.flatMap((name) => [...presentErrors(event, name), ...lengthErrors(event, name, maxShortBytes)]),
    ...lengthErrors(event, "message", maxNoteBytes),
  ];
}

/** Validates a core event. `controllerName` names reportingComponent in errors. Mirrors legacyValidateEvent. */
function legacyErrors(event: ApiObject, controllerName: string): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  return [
    ...namespaceError(event),
    ...timedErrors(event, controllerName),
    ...field.allInvalid("namespace", namespace, dnsSubdomainErrors(namespace)),
  ];
}

/** Validates new and changed events of the core group. */
export function validateEvent(event: ApiObject): FieldError[] {
  return legacyErrors(event, "reportingComponent");
}

/** Validates the series of an event. Mirrors validateV1EventSeries. */
function seriesErrors(event: ApiObject): FieldError[] {
  if (event["series"] === undefined) return [];
  const { count, lastObservedTime } = fieldsOf(event["series"]);
  return [
    ...field.when(Number(count) < 2, field.invalid("series.count", "", "should be at least 2")),
    ...field.when(textOf(lastObservedTime) === "", field.required("series.lastObservedTime")),
  ];
}

function hasValue(value: unknown): boolean {
  return typeof value === "object" ? Object.keys(value ?? {}).length > 0 : Boolean(value);
}

/** Validates a new event of events.k8s.io. Mirrors ValidateEventCreate. */
export function validateEventsV1(sent: ApiObject): FieldError[] {
  const event = withCoreNames(sent);
  const type = textOf(event["type"]);
  const isKnownType = ["Normal", "Warning"].includes(type);
  const deprecated = ["firstTimestamp", "lastTimestamp", "count", "source"];
  return [
    ...legacyErrors(event, "reportingController"),
    ...validateCoreMetadata(event.metadata, true, dnsSubdomainErrors),
    ...seriesErrors(event),
    ...presentErrors(event, "eventTime"),
    ...field.when(!isKnownType, field.invalid("type", "", `has invalid value: ${type}`)),
    ...deprecated
      .filter((name) => hasValue(event[name]))
      .map((name) => field.invalid(name, "", "needs to be unset")),
  ];
}

const immutableFields =
  "involvedObject reason message source firstTimestamp lastTimestamp count type " +
  "eventTime action related reportingController reportingInstance";

function isSame(next: unknown, current: unknown): boolean {
  return JSON.stringify(next ?? null) === JSON.stringify(current ?? null);
}

/** Validates a changed event of events.k8s.io. Mirrors ValidateEventUpdate. */
export function validateEventsV1Update(sent: ApiObject, stored: ApiObject): FieldError[] {
  const [next, current] = [withCoreNames(sent), withCoreNames(stored)];
  const changed = immutableFields.split(" ").filter((name) => {
    const own = name === "reportingController" ? "reportingComponent" : name;
    return !isSame(next[own], current[own]);
  });
  return [
    ...legacyErrors(next, "reportingController"),
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...(isSame(next["series"], current["series"]) ? [] : seriesErrors(next)),
    ...changed.map((name) => field.invalid(name, next[name] ?? "", field.immutableText)),
  ];
}
