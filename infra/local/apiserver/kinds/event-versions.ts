// Which names the fields of an event have in its two groups. Mirrors pkg/apis/events/v1/conversion.go; stores nothing.
import type { ApiObject } from "../object.ts";

export const eventsGroup = "events.k8s.io";

/** A field of events.k8s.io → the same one of the core group, where that has another name. */
const coreNames = new Map([
  ["reportingController", "reportingComponent"],
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
]);
const namesInGroup = new Map([...coreNames].map(([name, coreName]) => [coreName, name]));

function renamed<T extends object>(event: T, names: Map<string, string>): T {
  const entries = Object.entries(event).map(([name, value]) => [names.get(name) ?? name, value]);
  return Object.fromEntries(entries);
}

/** An event of events.k8s.io with the fields of the core group; what is left out there is left out here. */
export function withCoreNames<T extends object>(event: T): T {
  return renamed(event, coreNames);
}

/** The other way round. */
export function withoutCoreNames(event: ApiObject): ApiObject {
  return renamed(event, namesInGroup);
}

/** A field that a fieldSelector may name in the core group → the same one in events.k8s.io. */
export function selectorOf(coreField: string): string {
  const [first = "", ...rest] = coreField.split(".");
  return [namesInGroup.get(first) ?? first, ...rest].join(".");
}
