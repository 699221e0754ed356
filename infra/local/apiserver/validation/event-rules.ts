// What an Event may look like, as long as it has no eventTime. Mirrors core/validation/events.go.
import { subdomainErrors } from "./names.ts";
import { type ApiObject, fieldsOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";

function namespaceError(event: ApiObject): FieldError[] {
  const involved = textOf(fieldsOf(event["involvedObject"])["namespace"]);
  const own = event.metadata.namespace ?? "";
  const agrees = involved === "" ? ["", "default"].includes(own) : involved === own;
  return agrees
    ? []
    : [field.invalid("involvedObject.namespace", involved, "does not match event.namespace")];
}

/** legacyValidateEvent, on creation and on updates. */
export function validateEvent(event: ApiObject): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  return [...namespaceError(event), ...field.allInvalid("namespace", namespace, subdomainErrors(namespace))];
}
