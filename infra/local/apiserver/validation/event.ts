// What an Event may look like, in both of its versions: events.k8s.io/v1 asks for more. Takes events in the core form.
// Mirrors core/validation/events.go.
import { type Json, jsonEqual } from "../../../../shared/kubernetes/json.ts";
import { qualifiedNameErrors, subdomainErrors } from "../names.ts";
import { type ApiObject, fieldsOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import { nameRule, validateCoreMetadata, validateCoreMetadataUpdate } from "./metadata.ts";

const maxCharacters = 128;
const maxNoteCharacters = 1024;

/** Required, and not too long. */
function validateText(path: string, text: string, isRequired: boolean, maximum: number): FieldError[] {
  const errors = isRequired && text === "" ? [field.required(path)] : [];
  if (Buffer.byteLength(text) <= maximum) return errors;
  return [...errors, field.invalid(path, "", `can have at most ${maximum} characters`)];
}

function namespaceError(event: ApiObject): FieldError[] {
  const involved = textOf(fieldsOf(event["involvedObject"])["namespace"]);
  const own = event.metadata.namespace ?? "";
  const isNew = isSet(event["eventTime"]);
  const homes = isNew ? ["default", "kube-system"] : ["", "default"];
  const agrees = involved === "" ? homes.includes(own) : isNew || involved === own;
  return agrees
    ? []
    : [field.invalid("involvedObject.namespace", involved, "does not match event.namespace")];
}

/** Whether a time was sent at all; upstream takes even the year 1 for one. */
function isSet(time: unknown): boolean {
  return typeof time === "string";
}

/** An event with an eventTime is of the new kind, in either version. */
function validateNewFields(event: ApiObject, controllerField: string): FieldError[] {
  const controller = textOf(event["reportingComponent"]);
  return [
    ...(controller === "" ? [field.required(controllerField)] : []),
    ...field.allInvalid(controllerField, controller, qualifiedNameErrors(controller)),
    ...validateText("reportingInstance", textOf(event["reportingInstance"]), true, maxCharacters),
    ...validateText("action", textOf(event["action"]), true, maxCharacters),
    ...validateText("reason", textOf(event["reason"]), true, maxCharacters),
    ...validateText("message", textOf(event["message"]), false, maxNoteCharacters),
  ];
}

function validateLegacy(event: ApiObject, controllerField: string): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  return [
    ...namespaceError(event),
    ...(isSet(event["eventTime"]) ? validateNewFields(event, controllerField) : []),
    ...field.allInvalid("namespace", namespace, subdomainErrors(namespace)),
  ];
}

/** core/v1: legacyValidateEvent, on creation and on updates. */
export function validateEvent(event: ApiObject): FieldError[] {
  return validateLegacy(event, "reportingComponent");
}

function validateSeries(event: ApiObject): FieldError[] {
  if (event["series"] === undefined) return [];
  const { count = 0, lastObservedTime } = fieldsOf(event["series"]);
  return [
    ...(Number(count) < 2 ? [field.invalid("series.count", "", "should be at least 2")] : []),
    ...(isSet(lastObservedTime) ? [] : [field.required("series.lastObservedTime")]),
  ];
}

/** events.k8s.io/v1: ValidateEventCreate */
export function validateNewEvent(event: ApiObject): FieldError[] {
  const type = textOf(event["type"]);
  const source = fieldsOf(event["source"]);
  const unwanted = {
    firstTimestamp: isSet(event["firstTimestamp"]),
    lastTimestamp: isSet(event["lastTimestamp"]),
    count: event["count"] !== undefined,
    source: Boolean(source["component"]) || Boolean(source["host"]),
  };
  return [
    ...validateLegacy(event, "reportingController"),
    ...validateCoreMetadata(event.metadata, true, nameRule(subdomainErrors)),
    ...validateSeries(event),
    ...(isSet(event["eventTime"]) ? [] : [field.required("eventTime")]),
    ...(type === "Normal" || type === "Warning"
      ? []
      : [field.invalid("type", "", `has invalid value: ${type}`)]),
    ...Object.entries(unwanted).flatMap(([path, isThere]) =>
      isThere ? [field.invalid(path, "", "needs to be unset")] : [],
    ),
  ];
}

/** In upstream's order; the internal type's names differ from core/v1's in one. */
const immutable: [name: string, path: string, zero: Json][] = [
  ["involvedObject", "involvedObject", {}],
  ["reason", "reason", ""],
  ["message", "message", ""],
  ["source", "source", {}],
  ["firstTimestamp", "firstTimestamp", null],
  ["lastTimestamp", "lastTimestamp", null],
  ["count", "count", 0],
  ["reason", "reason", ""],
  ["type", "type", ""],
  ["eventTime", "eventTime", null],
  ["action", "action", ""],
  ["related", "related", null],
  ["reportingComponent", "reportingController", ""],
  ["reportingInstance", "reportingInstance", ""],
];

/** Internal types have Go's names and fields in Go's order, and leave nothing out. */
function printedReference(value: unknown): Json {
  const { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath } = fieldsOf(value);
  return {
    Kind: textOf(kind),
    Namespace: textOf(namespace),
    Name: textOf(name),
    UID: textOf(uid),
    APIVersion: textOf(apiVersion),
    ResourceVersion: textOf(resourceVersion),
    FieldPath: textOf(fieldPath),
  };
}

function printedField(name: string, value: Json): Json {
  if (name === "involvedObject" || (name === "related" && value !== null)) return printedReference(value);
  if (name !== "source") return value;
  const { component, host } = fieldsOf(value);
  return { Component: textOf(component), Host: textOf(host) };
}

function fieldOf(event: ApiObject, name: string, zero: Json): Json {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields of an object are JSON
  return (event[name] as Json | undefined) ?? zero;
}

/** events.k8s.io/v1: ValidateEventUpdate */
export function validateNewEventUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  const changed = immutable.filter(
    ([name, , zero]) => !jsonEqual(fieldOf(next, name, zero), fieldOf(current, name, zero)),
  );
  const hasNewSeries = !jsonEqual(fieldOf(next, "series", null), fieldOf(current, "series", null));
  return [
    ...validateLegacy(next, "reportingController"),
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...(hasNewSeries ? validateSeries(next) : []),
    ...changed.map(([name, path, zero]) =>
      field.invalid(path, printedField(name, fieldOf(next, name, zero)), field.immutableText),
    ),
  ];
}
