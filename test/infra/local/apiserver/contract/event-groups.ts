// Lists requests for Events of the group events.k8s.io, which the embedded and a real apiserver must answer alike.
// The objects are those of the core group, with other names for their fields.
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

const limits: Case[] = [
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
];

export const eventGroups: Case[] = [...inBothGroups, ...limits];
