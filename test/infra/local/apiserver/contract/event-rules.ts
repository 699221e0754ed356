// Lists the rules for the fields of Events and their changes, which the embedded and a real apiserver must have
// alike.
import type { Sent } from "../test-server.ts";
import { type Case, events, made, refused } from "./case.ts";
import { invalidValue } from "./texts.ts";

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
  {
    situation: "an event's name may have capitals and underscores",
    request: (name) => made(events, event(`${name}_A`)),
    outcome: (name) => ({ code: 201, body: { metadata: { name: `${name}_A` } } }),
  },
  {
    situation: "a PUT of an event needs no resourceVersion",
    before: (name) => [made(events, event(name, { count: 1 }))],
    request: (name) => put(events, event(name, { count: 2, message: "again" })),
    outcome: () => ({ code: 200, body: { count: 2, message: "again" } }),
  },
];
