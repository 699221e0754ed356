// What Events may look like in core/v1 and in events.k8s.io/v1, and how they may change.
import type { Sent } from "../test-server.ts";
import { type Case, type Cause, events, failure, invalid, made, newEvents, refused } from "./case.ts";
import { badName, badSubdomain, invalidValue } from "./texts.ts";

const time = "2026-01-01T00:00:00.000000Z";
const long = "x".repeat(129);

function event(name: string, rest: object = {}) {
  return { metadata: { name }, involvedObject: { kind: "Node", name: "n" }, ...rest };
}

const complete = {
  eventTime: time,
  reportingController: "example.com/c",
  reportingInstance: "i",
  action: "a",
  reason: "R",
  type: "Normal",
};

function newEvent(name: string, rest: object = {}) {
  return { metadata: { name }, regarding: { kind: "Node", name: "n" }, ...complete, ...rest };
}

function put(path: string, body: object & { metadata: { name: string } }): Sent {
  return { method: "PUT", path: `${path}/${body.metadata.name}`, body };
}

function badNew(situation: string, rest: object, ...causes: Cause[]): Case {
  return refused(situation, newEvents, "Event", { ...complete, ...rest }, ...causes);
}

const core: Case[] = [
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
  {
    situation: "nothing depends on an event: no propagation keeps it",
    before: (name) => [made(events, event(name))],
    request: (name) => ({
      method: "DELETE",
      path: `${events}/${name}`,
      body: { propagationPolicy: "Foreground" },
    }),
    outcome: (name) => ({ code: 200, body: { status: "Success", details: { name, kind: "events" } } }),
  },
];

const beyond: Case[] = [
  badNew("an event without an eventTime", { eventTime: null }, ["eventTime", "Required value"]),
  badNew("an event of a type of its own", { type: "Foo" }, [
    "type",
    invalidValue("", "has invalid value: Foo"),
  ]),
  badNew(
    "an event with deprecated fields",
    {
      deprecatedCount: 1,
      deprecatedSource: { host: "h" },
      deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
      deprecatedLastTimestamp: "2026-01-01T00:00:00Z",
    },
    ["firstTimestamp", invalidValue("", "needs to be unset")],
    ["lastTimestamp", invalidValue("", "needs to be unset")],
    ["count", invalidValue("", "needs to be unset")],
    ["source", invalidValue("", "needs to be unset")],
  ),
  badNew(
    "a series of one",
    { series: { count: 1 } },
    ["series.count", invalidValue("", "should be at least 2")],
    ["series.lastObservedTime", "Required value"],
  ),
  {
    situation: "a new event's name is a subdomain",
    request: () => made(newEvents, newEvent("A_B")),
    outcome: () => invalid("Event", "A_B", ["metadata.name", invalidValue("A_B", badSubdomain)]),
  },
  {
    situation: "a new event is an event of the core group under other names",
    before: (name) => [made(newEvents, newEvent(name, { note: "text" }))],
    request: (name) => ({ path: `${events}/${name}` }),
    outcome: (name) => ({
      code: 200,
      body: {
        kind: "Event",
        apiVersion: "v1",
        metadata: { name },
        involvedObject: { kind: "Node", name: "n" },
        message: "text",
        reportingComponent: "example.com/c",
        eventTime: time,
        source: {},
        firstTimestamp: null,
      },
    }),
  },
  {
    situation: "a new event does not change, but for its series",
    before: (name) => [made(newEvents, newEvent(name))],
    request: (name) =>
      put(newEvents, newEvent(name, { note: "x", reason: "Q", type: "Warning", related: { kind: "Pod" } })),
    outcome: (name) =>
      invalid(
        "Event",
        name,
        ["reason", invalidValue("Q", "field is immutable")],
        ["message", invalidValue("x", "field is immutable")],
        ["reason", invalidValue("Q", "field is immutable")],
        ["type", invalidValue("Warning", "field is immutable")],
        [
          "related",
          'Invalid value: {"Kind":"Pod","Namespace":"","Name":"","UID":"","APIVersion":"","ResourceVersion":"",' +
            '"FieldPath":""}: field is immutable',
        ],
      ),
  },
  {
    situation: "a new event's series goes on",
    before: (name) => [made(newEvents, newEvent(name))],
    request: (name) => put(newEvents, newEvent(name, { series: { count: 2, lastObservedTime: time } })),
    outcome: () => ({ code: 200, body: { series: { count: 2, lastObservedTime: time } } }),
  },
  {
    situation: "an event of the other version",
    request: () => made(events, { apiVersion: "events.k8s.io/v1", kind: "Event" }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        "the API version in the data (events.k8s.io/v1) does not match the expected API version (v1)",
      ),
  },
];

export const eventRules: Case[] = [...core, ...beyond];
