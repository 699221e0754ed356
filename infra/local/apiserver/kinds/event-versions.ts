// Translates the field names of an event between its two API groups. Mirrors pkg/apis/events/v1/conversion.go.
import type { ApiObject } from "../object.ts";

export const eventsGroup = "events.k8s.io";

/** The fields whose names differ: the name in events.k8s.io, and the name in the core group. */
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

/** Returns an event of events.k8s.io with the field names of the core group. */
export function withCoreNames<T extends object>(event: T): T {
  return renamed(event, coreNames);
}

/** Returns an event of the core group with the field names of events.k8s.io. */
export function withoutCoreNames(event: ApiObject): ApiObject {
  return renamed(event, namesInGroup);
}

/** Translates a field of a fieldSelector from the core group's name to the name in events.k8s.io. */
export function selectorOf(coreField: string): string {
  const [first = "", ...rest] = coreField.split(".");
  return [namesInGroup.get(first) ?? first, ...rest].join(".");
}
