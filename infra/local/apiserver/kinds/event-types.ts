// The Go structs of events, in both of their groups. Data only. Source: k8s.io/api core/v1 and events/v1.
import type { StructTables } from "./go-type.ts";
import { metaTypes, typeMeta } from "./meta-types.ts";

const sharedTypes: StructTables = {
  ...metaTypes,
  "v1.EventSource": {
    "component?": "string",
    "host?": "string",
  },
  "v1.ObjectReference": {
    "kind?": "string",
    "namespace?": "string",
    "name?": "string",
    "uid?": "types.UID",
    "apiVersion?": "string",
    "resourceVersion?": "string",
    "fieldPath?": "string",
  },
};

/** Of the core group. */
export const eventTypes: StructTables = {
  ...sharedTypes,
  "v1.Event": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    involvedObject: "v1.ObjectReference",
    "reason?": "string",
    "message?": "string",
    source: "v1.EventSource",
    firstTimestamp: "v1.Time",
    lastTimestamp: "v1.Time",
    "count?": "int32",
    "type?": "string",
    eventTime: "v1.MicroTime",
    "series?": "*v1.EventSeries",
    "action?": "string",
    "related?": "*v1.ObjectReference",
    reportingComponent: "string",
    reportingInstance: "string",
  },
  "v1.EventSeries": {
    "count?": "int32",
    lastObservedTime: "v1.MicroTime",
  },
};

/** Of events.k8s.io. */
export const eventsV1Types: StructTables = {
  ...sharedTypes,
  "v1.Event": {
    ...typeMeta,
    metadata: "v1.ObjectMeta",
    eventTime: "v1.MicroTime",
    "series?": "*v1.EventSeries",
    "reportingController?": "string",
    "reportingInstance?": "string",
    "action?": "string",
    "reason?": "string",
    "regarding?": "v1.ObjectReference",
    "related?": "*v1.ObjectReference",
    "note?": "string",
    "type?": "string",
    "deprecatedSource?": "v1.EventSource",
    deprecatedFirstTimestamp: "v1.Time",
    deprecatedLastTimestamp: "v1.Time",
    "deprecatedCount?": "int32",
  },
  "v1.EventSeries": {
    count: "int32",
    lastObservedTime: "v1.MicroTime",
  },
};
