// Adds the message to events about a Node's status.
import type { RecordEvent, RecordStatusEvent } from "./setter.ts";

/** Returns a function that records an event with upstream's message (upstream Kubelet.recordNodeStatusEvent). */
export function recordNodeStatusEvent(nodeName: string, recordEvent: RecordEvent): RecordStatusEvent {
  return (type, reason) => recordEvent(type, reason, `Node ${nodeName} status is now: ${reason}`);
}
