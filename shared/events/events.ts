// Makes events of decisions, and sends an event in one attempt. Mirrors recorder and sink of client-go/tools/record.
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
 * Makes an event (upstream makeEvent); null if `type` is neither Normal nor Warning. `nowMicros` (microseconds
 * since 1970) becomes part of the name, so no other event of the object may have the same value.
 */
export function makeEvent(
  involvedObject: ObjectReference,
  source: EventSource,
  type: string,
  reason: string,
  message: string,
  nowMicros: number,
  uuid: () => string, // names the event if the object's name cannot be part of an event's name
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
 * Sends the event in one attempt (upstream recordEvent): patches or creates the event. If the event to patch no
 * longer exists, creates it. Upstream retries a request without an answer, but never a refused one.
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

/** Returns true if the event to patch does not exist (upstream IsKeyNotFoundError, which compares the code alone). */
function isGone(error: ApiError): boolean {
  return error.kind === "status" && error.status.code === 404;
}

/**
 * Returns an event's reference to a Node (upstream nodeRefWithUID). The name replaces the uid until the Node is known, since
 * `kubectl describe node` finds events whose `uid` is the Node's uid or its name. `kubectl events` needs the version.
 */
export function nodeReference(name: string, uid = name): ObjectReference {
  return { apiVersion: "v1", kind: "Node", name, uid };
}

interface StartEvent {
  type: string;
  reason: EventReason;
  message: string;
}

/** The text of upstream's CgroupV1DeprecatedWarning, word for word, because tools compare it. */
const CGROUP_V1 =
  "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1";

/** Returns the events of a shim's start in a kubelet's order: BirthCry, then cgroupVersionCheck. */
export function startEvents({ cgroups }: Pick<Facts, "cgroups">): StartEvent[] {
  const starting: StartEvent = { type: "Normal", reason: "Starting", message: "Starting node-shim." };
  const onCgroupV1: StartEvent = { type: "Warning", reason: "CgroupV1", message: CGROUP_V1 };
  return cgroups?.version === 1 ? [starting, onCgroupV1] : [starting];
}
