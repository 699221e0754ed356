// Events of the group events.k8s.io: the same objects as those of the core group, with other names for their fields and
// stricter rules.
import { expect } from "vitest";
import { type Sent, send, type TestServer } from "../test-server.ts";
import { type Case, events, failure, invalid, made, type Cause, type RequestCase } from "./case.ts";
import { invalidValue } from "./texts.ts";
import { watch } from "./watch.ts";

const newEvents = "/apis/events.k8s.io/v1/namespaces/default/events";
const eventTime = "2026-03-01T10:00:00.123456Z";

function event(name: string, rest: object = {}, metadata: object = {}) {
  return {
    metadata: { name, ...metadata },
    eventTime,
    reportingController: "example.com/tests",
    reportingInstance: "test-1",
    action: "Do",
    reason: "Tested",
    regarding: { kind: "Node", namespace: "default", name: "n" },
    note: "a note",
    type: "Normal",
    ...rest,
  };
}

async function make(server: TestServer, sent: Sent) {
  const answer = await send(server, sent);
  expect(answer.code, answer.text).toBe(201);
  return answer.body;
}

const inBothGroups: Case[] = [
  {
    situation: "an event of events.k8s.io, as it is answered",
    request: (name) => made(newEvents, event(name, { series: { count: 2, lastObservedTime: eventTime } })),
    outcome: (name) => ({
      code: 201,
      body: {
        kind: "Event",
        apiVersion: "events.k8s.io/v1",
        ...event(name, { series: { count: 2, lastObservedTime: eventTime } }),
        deprecatedSource: {},
        deprecatedFirstTimestamp: null,
        deprecatedLastTimestamp: null,
      },
    }),
  },
  {
    situation: "the same event, in the core group",
    before: (name) => [made(newEvents, event(name))],
    request: (name) => ({ path: `${events}/${name}` }),
    outcome: (name) => ({
      code: 200,
      body: {
        kind: "Event",
        apiVersion: "v1",
        metadata: { name },
        eventTime,
        reportingComponent: "example.com/tests",
        reportingInstance: "test-1",
        involvedObject: { kind: "Node", namespace: "default", name: "n" },
        message: "a note",
        source: {},
        firstTimestamp: null,
        lastTimestamp: null,
      },
    }),
  },
  {
    situation: "an event of the core group, in events.k8s.io",
    before: (name) => [
      made(events, {
        metadata: { name },
        involvedObject: { kind: "Node", name: "n", uid: "u" },
        message: "text",
        source: { component: "kubelet", host: "n" },
        firstTimestamp: "2026-03-01T10:00:00Z",
        count: 3,
      }),
    ],
    request: (name) => ({ path: `${newEvents}/${name}` }),
    outcome: () => ({
      code: 200,
      body: {
        apiVersion: "events.k8s.io/v1",
        eventTime: null,
        regarding: { kind: "Node", name: "n", uid: "u" },
        note: "text",
        deprecatedSource: { component: "kubelet", host: "n" },
        deprecatedFirstTimestamp: "2026-03-01T10:00:00Z",
        deprecatedCount: 3,
      },
    }),
  },
  ...["regarding.name", "reportingController", "reason", "type", "metadata.name"].map((field): Case => ({
    situation: `fieldSelector by ${field}`,
    run: async (server, name) => {
      const values: Record<string, string> = {
        "regarding.name": name,
        reportingController: name,
        reason: name,
        type: "Warning",
        "metadata.name": name,
      };
      const regarding = { kind: "Node", namespace: "default", name };
      const rest = { regarding, reportingController: name, reason: name, type: "Warning" };
      await make(server, made(newEvents, event(name, rest, { labels: { case: name } })));
      await make(server, made(newEvents, event(`${name}-other`, {}, { labels: { case: name } })));
      const query = new URLSearchParams({
        labelSelector: `case=${name}`,
        fieldSelector: `${field}=${values[field]}`,
      });
      const { body } = await send(server, { path: `${newEvents}?${query.toString()}` });
      expect(body).toMatchObject({ kind: "EventList", apiVersion: "events.k8s.io/v1" });
      expect(body["items"]).toMatchObject([{ metadata: { name } }]);
    },
  })),
  ...["source", "involvedObject.name"].map((field): Case => ({
    situation: `fieldSelector by ${field}, which events.k8s.io has not → 400`,
    request: () => ({ path: `${newEvents}?fieldSelector=${field}=x` }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  })),
  {
    situation: "a watch of events.k8s.io sees what is written in either group",
    run: async (server, name) => {
      const { metadata } = await make(server, made(newEvents, event(name, {}, { labels: { case: name } })));
      for (const body of [
        { message: "again" },
        { message: "unseen", metadata: { labels: { case: "other" } } },
      ]) {
        const change = { method: "PATCH", path: `${events}/${name}`, type: "merge", body };
        expect(await send(server, change)).toMatchObject({ code: 200 });
      }
      const query = `watch=1&resourceVersion=${metadata.resourceVersion}&labelSelector=case=${name}`;
      const watching = await watch(server, `${newEvents}?${query}`);
      for (const type of ["MODIFIED", "DELETED"]) {
        const object = { apiVersion: "events.k8s.io/v1", note: "again" };
        expect(await watching.next()).toMatchObject({ type, object });
      }
      await watching.stop();
    },
  },
  {
    situation: "a strategic merge patch of the series",
    before: (name) => [made(newEvents, event(name))],
    request: (name) => ({
      method: "PATCH",
      path: `${newEvents}/${name}`,
      type: "strategic",
      body: { series: { count: 2, lastObservedTime: eventTime } },
    }),
    outcome: () => ({ code: 200, body: { series: { count: 2, lastObservedTime: eventTime } } }),
  },
  {
    situation: "a PUT of an event that is not there makes it",
    request: (name) => ({ method: "PUT", path: `${newEvents}/${name}`, body: event(name) }),
    outcome: (name) => ({ code: 201, body: { metadata: { name } } }),
  },
  {
    situation: "what is not there is missed in the group that was asked",
    request: (name) => ({ path: `${newEvents}/${name}` }),
    outcome: (name) =>
      failure(404, "NotFound", `events.events.k8s.io "${name}" not found`, {
        name,
        group: "events.k8s.io",
        kind: "events",
      }),
  },
];

function refusedNew(situation: string, rest: object, ...causes: Cause[]): RequestCase {
  return {
    situation: `events.k8s.io: ${situation} → 422`,
    request: (name) => made(newEvents, event(name, rest)),
    outcome: (name) => invalid("Event", name, ...causes),
  };
}

const tooMany = (count: number) => `can have at most ${count} characters`;
const unset = invalidValue("", "needs to be unset");

const rules: Case[] = [
  refusedNew("no type", { type: "" }, ["type", invalidValue("", "has invalid value: ")]),
  refusedNew("no action", { action: "" }, ["action", "Required value"]),
  refusedNew("a reason of 129 characters", { reason: "r".repeat(129) }, [
    "reason",
    invalidValue("", tooMany(128)),
  ]),
  refusedNew("a note of 1025 characters", { note: "n".repeat(1025) }, [
    "message",
    invalidValue("", tooMany(1024)),
  ]),
  {
    situation: "events.k8s.io: what is as long as it may be",
    request: (name) => made(newEvents, event(name, { note: "n".repeat(1024), reason: "r".repeat(128) })),
    outcome: () => ({ code: 201 }),
  },
  refusedNew("no eventTime", { eventTime: null }, ["eventTime", "Required value"]),
  refusedNew(
    "a series of one, never observed",
    { series: { count: 1, lastObservedTime: null } },
    ["series.count", invalidValue("", "should be at least 2")],
    ["series.lastObservedTime", "Required value"],
  ),
  refusedNew(
    "deprecated fields",
    { deprecatedCount: 1, deprecatedSource: { host: "n" }, deprecatedLastTimestamp: "2026-03-01T10:00:00Z" },
    ["lastTimestamp", unset],
    ["count", unset],
    ["source", unset],
  ),
  {
    situation: "events.k8s.io: another note → 422",
    before: (name) => [made(newEvents, event(name))],
    request: (name) => ({
      method: "PATCH",
      path: `${newEvents}/${name}`,
      type: "merge",
      body: { note: "another" },
    }),
    outcome: (name) => invalid("Event", name, ["message", invalidValue("another", "field is immutable")]),
  },
  {
    situation: "core group: an eventTime, and nobody who reports → 422",
    request: (name) => made(events, { metadata: { name }, eventTime, reportingComponent: "" }),
    outcome: () => ({
      code: 422,
      body: {
        details: {
          causes: expect.arrayContaining([
            expect.objectContaining({ reason: "FieldValueRequired", field: "reportingComponent" }),
            expect.objectContaining({ reason: "FieldValueRequired", field: "action" }),
          ]),
        },
      },
    }),
  },
  {
    situation: "core group: an eventTime lets the event be about an object of another namespace",
    request: (name) => {
      const { regarding: _, reportingController, ...rest } = event(name);
      const core = {
        ...rest,
        reportingComponent: reportingController,
        involvedObject: { namespace: "other" },
      };
      return made(events, core);
    },
    outcome: () => ({ code: 201 }),
  },
];

export const eventGroups: Case[] = [...inBothGroups, ...rules];
