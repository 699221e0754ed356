// The Go structs of events. Data only. Source: k8s.io/api core/v1.
import type { StructTables } from "./go-type.ts";
import { metaTypes, typeMeta } from "./meta-types.ts";

export const eventTypes: StructTables = {
  ...metaTypes,
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
