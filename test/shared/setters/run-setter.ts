// Runs one setter on one Node, for the setters' tables of situations.
import { expect } from "vitest";
import { parseIp, type Ip } from "../../../shared/kubernetes/ip.ts";
import type { Node, NodeCondition } from "../../../shared/kubernetes/types.ts";
import { draftOf } from "../../../shared/node/update-node.ts";
import type { DraftNode, RecordAnyEvent, RecordStatusEvent, Setter } from "../../../shared/setters/setter.ts";

/** The time of the Node's last update. */
export const BEFORE = "2026-01-01T00:00:00Z";
/** The time at which the setter runs. */
export const NOW = "2026-01-01T00:00:10Z";

export interface Recorders {
  recordEvent: RecordAnyEvent;
  recordStatusEvent: RecordStatusEvent;
}

export interface Outcome {
  node: DraftNode;
  /** The setter's error; null if there is none. */
  error: string | null;
  /**
   * The recorded events, as `Normal NodeReady`, or as `Warning Rebooted: Node node-1 has been rebooted` if the
   * setter itself writes the message.
   */
  events: string[];
}

/** Runs the setter and returns its result. Throws if the setter changes an object of the last known Node. */
export function runSetter(make: (recorders: Recorders) => Setter, before: Node = {}): Outcome {
  const events: string[] = [];
  const setter = make({
    recordEvent: (type, reason, message) => events.push(`${type} ${reason}: ${message}`),
    recordStatusEvent: (type, reason) => events.push(`${type} ${reason}`),
  });
  const node = draftOf(frozen(structuredClone(before)));
  return { node, error: setter(node), events };
}

/** The expected result of a setter. An absent part means: the Node is unchanged, no error, no event. */
export interface Expected {
  status?: Node["status"];
  error?: string | null;
  events?: readonly string[];
}

/** Runs the setter and compares the whole status, so that the setter must not change any other field. */
export function expectOutcome(
  { node, error, events }: Outcome,
  { status = {}, error: wanted = null, events: recorded = [] }: Expected,
): void {
  expect({ status: node.status, error, events }).toEqual({ status, error: wanted, events: recorded });
}

/** Returns a condition whose times are BEFORE. */
export function condition(type: string, status: string, reason: string, message = "..."): NodeCondition {
  return { type, status, reason, message, lastHeartbeatTime: BEFORE, lastTransitionTime: BEFORE };
}

export function ip(text: string): Ip {
  const parsed = parseIp(text);
  if (parsed === null) throw new Error(`${text} is no IP address`);
  return parsed;
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}
