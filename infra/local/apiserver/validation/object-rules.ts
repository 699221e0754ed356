// Validates new and changed Nodes, Leases and Events. Mirrors core/validation.ValidateNode, ValidateNodeUpdate and
// ValidateNodeResources, coordination/validation.ValidateLease, and core/validation/events.go.
import { jsonEqual, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import {
  dnsSubdomainErrors,
  labelKeyErrors,
  labelValueErrors,
} from "../../../../shared/kubernetes/validation.ts";
import { withCoreNames } from "../kinds/event-versions.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import {
  validateCoreMetadata,
  validateCoreMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from "./metadata-rules.ts";

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function validateEffect(path: string, effect: string): FieldError[] {
  if (effect === "") return [field.required(path)];
  return taintEffects.includes(effect) ? [] : [field.notSupported(path, effect, taintEffects)];
}

/** Returns a taint for an error text. Upstream prints the internal type: Go's field names, in Go's order. */
function printedTaint({ key, value, effect, timeAdded }: JsonObject): JsonObject {
  return { Key: textOf(key), Value: textOf(value), Effect: textOf(effect), TimeAdded: timeAdded ?? null };
}

/** Validates the taints of a Node. The errors name the metadata, like upstream's validateNodeTaints. */
function validateTaints(node: ApiObject): FieldError[] {
  const seen = new Set<string>();
  return listOf(fieldsOf(node["spec"])["taints"]).flatMap((taint, index) => {
    const path = `metadata.taints[${index}]`;
    const { key: rawKey, value: rawValue, effect: rawEffect } = fieldsOf(taint);
    const [key, value, effect] = [textOf(rawKey), textOf(rawValue), textOf(rawEffect)];
    const valueErrors = labelValueErrors(value);
    const identity = `${effect}/${key}`;
    const errors = [
      ...field.allInvalid(`${path}.key`, key, labelKeyErrors(key)),
      ...(valueErrors.length > 0 ? [field.invalid(`${path}.value`, value, valueErrors.join(";"))] : []),
      ...validateEffect(`${path}.effect`, effect),
    ];
    if (seen.has(identity)) {
      const detail = "taints must be unique by key and effect pair";
      errors.push(field.duplicate(path, printedTaint(fieldsOf(taint)), detail));
    }
    seen.add(identity);
    return errors;
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
    return isDuplicate ? [field.duplicate(`status.addresses[${index}]`, printed)] : [];
  });
}

/** Returns errors for changes of podCIDRs and providerID, which can be set only once. */
function validateFrozen(next: JsonObject, current: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const [oldCidrs, newCidrs] = [listOf(current["podCIDRs"]), listOf(next["podCIDRs"])];
  if (oldCidrs.length > 0 && !jsonEqual(oldCidrs, newCidrs)) {
    const differing = oldCidrs.filter((cidr, index) => cidr !== newCidrs[index]).length;
    const times = oldCidrs.length === newCidrs.length ? differing : 1;
    const detail = 'node updates may not change podCIDR except from "" to valid';
    for (let count = 0; count < times; count++) errors.push(field.forbidden("spec.podCIDRs", detail));
  }
  const providerId = textOf(current["providerID"]);
  if (providerId !== "" && providerId !== textOf(next["providerID"])) {
    const detail = 'node updates may not change providerID except from "" to valid';
    errors.push(field.forbidden("spec.providerID", detail));
  }
  return errors;
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

const integerResources = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

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
  const errors = quantity.startsWith("-")
    ? [field.invalid(path, quantity, "must be greater than or equal to 0")]
    : [];
  const isInteger = integerResources.has(name) || isExtended(name);
  if (isInteger && hasFraction(quantity)) errors.push(field.invalid(path, quantity, "must be an integer"));
  return errors;
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
  const errors: FieldError[] = [];
  if (typeof duration === "number" && duration <= 0) {
    errors.push(field.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
  }
  if (typeof transitions === "number" && transitions < 0) {
    errors.push(field.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
  return errors;
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
  const involved = textOf(fieldsOf(event["involvedObject"])["namespace"]);
  const own = event.metadata.namespace ?? "";
  const isTimed = textOf(event["eventTime"]) !== "";
  const homeless = isTimed ? ["default", "kube-system"] : ["", "default"];
  const agrees = involved === "" ? homeless.includes(own) : isTimed || involved === own;
  return agrees
    ? []
    : [field.invalid("involvedObject.namespace", involved, "does not match event.namespace")];
}

function lengthErrors(event: ApiObject, name: string, maxBytes: number): FieldError[] {
  const isTooLong = Buffer.byteLength(textOf(event[name])) > maxBytes;
  return isTooLong ? [field.invalid(name, "", `can have at most ${maxBytes} characters`)] : [];
}

function presentErrors(event: ApiObject, name: string, shownName = name): FieldError[] {
  return textOf(event[name]) === "" ? [field.required(shownName)] : [];
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
    ...(Number(count) < 2 ? [field.invalid("series.count", "", "should be at least 2")] : []),
    ...(textOf(lastObservedTime) === "" ? [field.required("series.lastObservedTime")] : []),
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
    ...(isKnownType ? [] : [field.invalid("type", "", `has invalid value: ${type}`)]),
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
