// How leases, events and namespaces merge in a strategic merge patch. Data only.
// Source: k8s.io/api coordination/v1 and core/v1, their `patchStrategy` tags.
import { objectMeta, typeMeta } from "../../../../shared/kubernetes/patch/node-schema.ts";
import { atomicList, keyedList, scalars, struct } from "../../../../shared/kubernetes/patch/schema.ts";

export const leaseSchema = struct("Lease", {
  ...typeMeta,
  metadata: objectMeta,
  spec: struct("LeaseSpec", {
    ...scalars("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"),
    ...scalars("strategy", "preferredHolder"),
  }),
});

const objectReference = struct(
  "ObjectReference",
  scalars("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"),
);
const eventSource = struct("EventSource", scalars("component", "host"));
const eventSeries = struct("EventSeries", scalars("count", "lastObservedTime"));

/** core/v1 */
export const eventSchema = struct("Event", {
  ...typeMeta,
  ...scalars("reason", "message", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime", "action"),
  ...scalars("reportingComponent", "reportingInstance"),
  metadata: objectMeta,
  involvedObject: objectReference,
  source: eventSource,
  series: eventSeries,
  related: objectReference,
});

export const namespaceSchema = struct("Namespace", {
  ...typeMeta,
  metadata: objectMeta,
  spec: struct("NamespaceSpec", { finalizers: atomicList }),
  status: struct("NamespaceStatus", {
    ...scalars("phase"),
    conditions: keyedList(
      "type",
      struct("NamespaceCondition", scalars("type", "status", "lastTransitionTime", "reason", "message")),
    ),
  }),
});
