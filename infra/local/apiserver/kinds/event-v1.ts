// events.k8s.io/v1 Events: the same objects as core/v1 Events under other field names. Pure mapping.
// Mirrors kubernetes/pkg/apis/events/v1/conversion.go.
import { type ApiObject, asJson, fieldsOf, textOf } from "../object.ts";
import type { StoredForm } from "../resource-type.ts";
import { decodeObject } from "./decode.ts";
import { goTypeOf } from "./go-types.ts";

/** events.k8s.io/v1 → core/v1; what both call the same stays where it is. */
const coreNames: Record<string, string> = {
  regarding: "involvedObject",
  note: "message",
  reportingController: "reportingComponent",
  deprecatedSource: "source",
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
  deprecatedCount: "count",
};
const newNames = Object.fromEntries(Object.entries(coreNames).map(([name, core]) => [core, name]));

/** The event under the other version's names, as that version's Go type would write it. */
function convert(
  event: ApiObject,
  names: Record<string, string>,
  group: string,
  apiVersion: string,
): ApiObject {
  const renamed = Object.fromEntries(
    Object.entries(asJson(event)).map(([field, value]) => [names[field] ?? field, value]),
  );
  const decoded = decodeObject(renamed, goTypeOf({ group, kind: "Event" }));
  if ("error" in decoded) throw new Error(`an event that was read cannot be read again: ${decoded.error}`);
  const { kind: _, apiVersion: __, metadata: ___, ...fields } = decoded.object;
  return { kind: "Event", apiVersion, metadata: event.metadata, ...fields };
}

export const storedEvent: StoredForm = {
  resource: "events",
  toStored: (event) => convert(event, coreNames, "", "v1"),
  fromStored: (event) => convert(event, newNames, "events.k8s.io", "events.k8s.io/v1"),
};

export function selectableEventV1Fields(event: ApiObject): Record<string, string> {
  const regarding = fieldsOf(event["regarding"]);
  const fields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
  return {
    ...Object.fromEntries(fields.map((field) => [`regarding.${field}`, textOf(regarding[field])])),
    reason: textOf(event["reason"]),
    reportingController: textOf(event["reportingController"]),
    type: textOf(event["type"]),
  };
}
