// The schemas of leases and events: which empty fields Go leaves out, and how fields merge in a strategic merge patch.
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

/** core/v1 */
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
