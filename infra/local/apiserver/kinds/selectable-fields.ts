// The fields of Nodes and events that a fieldSelector may name.
import { selectorOf, withCoreNames } from "./event-versions.ts";
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

/** Of events.k8s.io, which has no selector by source. */
export function selectableEventsV1Fields(event: ApiObject): Record<string, string> {
  const { source: _, ...fields } = selectableEventFields(withCoreNames(event));
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [selectorOf(field), value]));
}

export function selectableNodeFields(node: ApiObject): Record<string, string> {
  return { "spec.unschedulable": String(fieldsOf(node["spec"])["unschedulable"] === true) };
}
