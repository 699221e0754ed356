// Makes the Kubernetes events that decisions cause, and sends one. It neither waits nor tries again.
// Mirrors the recorder and the sink of client-go/tools/record.
import type { ApiError, ApiResult } from "../kubernetes/api-error.ts";
import type { EventClient } from "../kubernetes/client.ts";
import type { EventReason } from "../kubernetes/event-reasons.ts";
import { formatSeconds } from "../kubernetes/micro-time.ts";
import type { Event, ObjectReference } from "../kubernetes/types.ts";
import { dnsSubdomainErrors } from "../kubernetes/validation.ts";
import type { Facts } from "../protocol/facts.ts";
import { type CorrelatedEvent, type EventCorrelator, eventName, rememberRecorded } from "./correlator.ts";

interface EventSource {
  component: string;
  host: string;
}

/**
 * Upstream makeEvent; null for a type other than Normal and Warning. No two events of an object may have the
 * same `nowMicros` (microseconds since 1970): their names depend on it.
 */
export function makeEvent(
  involvedObject: ObjectReference,
  source: EventSource,
  type: string,
  reason: string,
  message: string,
  nowMicros: number,
  uuid: () => string, // names the event where the object's name cannot be part of an event's name
): Event | null {
  if (type !== "Normal" && type !== "Warning") return null;
  const name = eventName(involvedObject.name, nowMicros);
  const now = formatSeconds(nowMicros);
  return {
    metadata: {
      name: dnsSubdomainErrors(name).length === 0 ? name : uuid(),
      namespace: involvedObject.namespace || "default",
    },
    involvedObject,
    reason,
    message,
    source: { ...source },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    type,
    reportingComponent: source.component,
    reportingInstance: source.host,
  };
}

/**
 * Upstream recordEvent, one attempt: patches or creates the event. An event that is to be patched but no longer exists
 * is created. Upstream repeats a request that got no answer, and never one that the apiserver refused.
 */
export async function recordEvent(
  client: EventClient,
  correlator: EventCorrelator,
  { event, patch }: CorrelatedEvent,
): Promise<ApiResult<Event>> {
  let answer = patch === null ? null : await client.patchEvent(event, patch);
  if (answer === null || (!answer.ok && isGone(answer.error))) {
    const { resourceVersion: _, ...metadata } = event.metadata;
    answer = await client.createEvent({ ...event, metadata });
  }
  if (answer.ok) rememberRecorded(correlator, answer.value);
  return answer;
}

/** Upstream IsKeyNotFoundError, which looks at the code alone. */
function isGone(error: ApiError): boolean {
  return error.kind === "status" && error.status.code === 404;
}

// The events of a start that follow from no change: that the shim has started, and what it runs on. Records nothing.

interface StartEvent {
  type: string;
  reason: EventReason;
  message: string;
}

/** Upstream CgroupV1DeprecatedWarning: what tools compare. */
const CGROUP_V1 =
  "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1";

/** In a kubelet's order: BirthCry, then cgroupVersionCheck. What the Node's first conditions cause comes after them. */
export function startEvents({ cgroups }: Pick<Facts, "cgroups">): StartEvent[] {
  const starting: StartEvent = { type: "Normal", reason: "Starting", message: "Starting node-shim." };
  const onCgroupV1: StartEvent = { type: "Warning", reason: "CgroupV1", message: CGROUP_V1 };
  return cgroups?.version === 1 ? [starting, onCgroupV1] : [starting];
}
