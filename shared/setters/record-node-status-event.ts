// The message of events about a Node's status.
import type { RecordEvent, RecordStatusEvent } from "./setter.ts";

/** Upstream Kubelet.recordNodeStatusEvent. */
export function recordNodeStatusEvent(nodeName: string, recordEvent: RecordEvent): RecordStatusEvent {
  return (type, reason) => recordEvent(type, reason, `Node ${nodeName} status is now: ${reason}`);
}
