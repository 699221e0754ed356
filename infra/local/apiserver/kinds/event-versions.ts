// The names of an event's fields in its two groups. Mirrors pkg/apis/events/v1/conversion.go.
import type { ApiObject } from "../object.ts";

export const eventsGroup = "events.k8s.io";

/** The fields that have another name in the core group: name in events.k8s.io → name in the core group. */
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

/** Renames the fields of an event of events.k8s.io to those of the core group. */
export function withCoreNames<T extends object>(event: T): T {
  return renamed(event, coreNames);
}

/** Renames the fields of an event of the core group to those of events.k8s.io. */
export function withoutCoreNames(event: ApiObject): ApiObject {
  return renamed(event, namesInGroup);
}

/** Converts a field of a fieldSelector from the core group to events.k8s.io. */
export function selectorOf(coreField: string): string {
  const [first = "", ...rest] = coreField.split(".");
  return [namesInGroup.get(first) ?? first, ...rest].join(".");
}
