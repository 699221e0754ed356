// What an Event may look like. Mirrors core/validation/events.go.
import { qualifiedNameErrors, subdomainErrors } from "./names.ts";
import { type ApiObject, fieldsOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";

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

/** An event with an eventTime is of the new kind. */
function validateNewFields(event: ApiObject): FieldError[] {
  const controllerField = "reportingComponent";
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

/** legacyValidateEvent, on creation and on updates. */
export function validateEvent(event: ApiObject): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  return [
    ...namespaceError(event),
    ...(isSet(event["eventTime"]) ? validateNewFields(event) : []),
    ...field.allInvalid("namespace", namespace, subdomainErrors(namespace)),
  ];
}
