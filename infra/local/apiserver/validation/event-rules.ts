// What an Event may look like, and how it may change. Mirrors core/validation/events.go.
import { withCoreNames } from "../kinds/event-versions.ts";
import { validateCoreMetadata, validateCoreMetadataUpdate, subdomainName } from "./metadata-rules.ts";
import { qualifiedNameErrors, subdomainErrors } from "./names.ts";
import { type ApiObject, fieldsOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";

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

/** What an event has to say that has an eventTime. */
function timedErrors(event: ApiObject, controllerName: string): FieldError[] {
  if (textOf(event["eventTime"]) === "") return [];
  const controller = textOf(event["reportingComponent"]);
  const short = ["reportingInstance", "action", "reason"];
  return [
    ...presentErrors(event, "reportingComponent", controllerName),
    ...field.allInvalid(controllerName, controller, qualifiedNameErrors(controller)),
    ...short.flatMap((name) => [...presentErrors(event, name), ...lengthErrors(event, name, maxShortBytes)]),
    ...lengthErrors(event, "message", maxNoteBytes),
  ];
}

/** legacyValidateEvent; `controllerName` is what the version calls the field. */
function legacyErrors(event: ApiObject, controllerName: string): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  return [
    ...namespaceError(event),
    ...timedErrors(event, controllerName),
    ...field.allInvalid("namespace", namespace, subdomainErrors(namespace)),
  ];
}

/** Of the core group, on creation and on updates. */
export function validateEvent(event: ApiObject): FieldError[] {
  return legacyErrors(event, "reportingComponent");
}

/** validateV1EventSeries */
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

/** Of events.k8s.io, on creation: ValidateEventCreate. */
export function validateEventsV1(sent: ApiObject): FieldError[] {
  const event = withCoreNames(sent);
  const type = textOf(event["type"]);
  const isKnownType = ["Normal", "Warning"].includes(type);
  const deprecated = ["firstTimestamp", "lastTimestamp", "count", "source"];
  return [
    ...legacyErrors(event, "reportingController"),
    ...validateCoreMetadata(event.metadata, true, subdomainName),
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

/** Of events.k8s.io, on updates: ValidateEventUpdate. */
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
