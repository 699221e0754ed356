// What Events may look like, and how they may change.
import type { Sent } from "../test-server.ts";
import { type Case, events, made, refused } from "./case.ts";
import { badName, invalidValue } from "./texts.ts";

const time = "2026-01-01T00:00:00.000000Z";
const long = "x".repeat(129);

function event(name: string, rest: object = {}) {
  return { metadata: { name }, involvedObject: { kind: "Node", name: "n" }, ...rest };
}

function put(path: string, body: object & { metadata: { name: string } }): Sent {
  return { method: "PUT", path: `${path}/${body.metadata.name}`, body };
}

export const eventRules: Case[] = [
  refused(
    "an event about an object of another namespace",
    events,
    "Event",
    { involvedObject: { namespace: "other" } },
    ["involvedObject.namespace", invalidValue("other", "does not match event.namespace")],
  ),
  refused(
    "an event with an eventTime, and nothing of what goes with it",
    events,
    "Event",
    { eventTime: time },
    ["reportingComponent", "Required value"],
    ["reportingComponent", invalidValue("", "name part must be non-empty")],
    ["reportingComponent", invalidValue("", badName)],
    ["reportingInstance", "Required value"],
    ["action", "Required value"],
    ["reason", "Required value"],
  ),
  refused(
    "an event with an eventTime, and too much of everything",
    events,
    "Event",
    {
      eventTime: time,
      reportingComponent: "c",
      reportingInstance: long,
      action: long,
      reason: long,
      message: "x".repeat(1025),
    },
    ["reportingInstance", invalidValue("", "can have at most 128 characters")],
    ["action", invalidValue("", "can have at most 128 characters")],
    ["reason", invalidValue("", "can have at most 128 characters")],
    ["message", invalidValue("", "can have at most 1024 characters")],
  ),
  {
    situation: "an event of a Node with an eventTime may live in kube-system",
    request: (name) =>
      made("/api/v1/namespaces/kube-system/events", {
        ...event(name),
        eventTime: time,
        reportingComponent: "c",
        reportingInstance: "i",
        action: "a",
        reason: "R",
      }),
    outcome: () => ({ code: 201, body: { metadata: { namespace: "kube-system" } } }),
  },
  {
    situation: "an event's name may have capitals and underscores",
    request: (name) => made(events, event(`${name}_A`)),
    outcome: (name) => ({ code: 201, body: { metadata: { name: `${name}_A` } } }),
  },
  {
    situation: "a PUT makes an event that is not there",
    request: (name) => put(events, event(name)),
    outcome: () => ({ code: 201, body: { source: {}, firstTimestamp: null } }),
  },
  {
    situation: "a PUT of an event needs no resourceVersion",
    before: (name) => [made(events, event(name, { count: 1 }))],
    request: (name) => put(events, event(name, { count: 2, message: "again" })),
    outcome: () => ({ code: 200, body: { count: 2, message: "again" } }),
  },
];
