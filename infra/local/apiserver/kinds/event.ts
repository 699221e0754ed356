// What the apiserver does to core/v1 Events beyond the generic: what selectors see.
import { type ApiObject, fieldsOf, textOf } from "../object.ts";

export function selectableEventFields(event: ApiObject): Record<string, string> {
  const involved = fieldsOf(event["involvedObject"]);
  const fields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
  return {
    ...Object.fromEntries(fields.map((field) => [`involvedObject.${field}`, textOf(involved[field])])),
    reason: textOf(event["reason"]),
    reportingComponent: textOf(event["reportingComponent"]),
    source: textOf(fieldsOf(event["source"])["component"]) || textOf(event["reportingComponent"]),
    type: textOf(event["type"]),
  };
}
