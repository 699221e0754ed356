// Defines the schemas of leases and events: the empty fields that Go leaves out, and the way in which fields merge.
// Source: the `json` and `patchStrategy` tags of k8s.io/api coordination/v1 and core/v1, v0.36.3.
import { objectMeta, typeMeta } from "./node-schema.ts";
import { scalars, struct } from "./schema.ts";

export const leaseSchema = struct("Lease", {
  ...typeMeta,
  metadata: objectMeta,
  spec: struct("LeaseSpec", {
    ...scalars("holderIdentity*", "leaseDurationSeconds*", "acquireTime*", "renewTime*", "leaseTransitions*"),
    ...scalars("strategy*", "preferredHolder*"),
  }),
});

export const objectReference = struct(
  "ObjectReference",
  scalars("kind?", "namespace?", "name?", "uid?", "apiVersion?", "resourceVersion?", "fieldPath?"),
);
export const eventSource = struct("EventSource", scalars("component?", "host?"));
export const eventSeries = struct("EventSeries", scalars("count?", "lastObservedTime"));

/** The schema of core/v1's Event. */
export const eventSchema = struct("Event", {
  ...typeMeta,
  ...scalars(
    "reason?",
    "message?",
    "firstTimestamp",
    "lastTimestamp",
    "count?",
    "type?",
    "eventTime",
    "action?",
  ),
  ...scalars("reportingComponent", "reportingInstance"),
  metadata: objectMeta,
  involvedObject: objectReference,
  source: eventSource,
  series: eventSeries,
  related: objectReference,
});
