// Tests which sent events are remembered for operators.
import { expect, it } from "vitest";
import {
  correlateEvent,
  type EventCorrelator,
  newEventCorrelator,
  recordedEvents,
} from "../../../shared/events/correlator.ts";
import { makeEvent, recordEvent } from "../../../shared/events/events.ts";
import { parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Event } from "../../../shared/kubernetes/types.ts";
import { createFakeApiserver } from "../../vectors/fake-apiserver.ts";

const NOW = parseMicroTime("2026-03-14T15:09:26Z");
const SECOND = 1_000_000;
const OBJECT = { apiVersion: "v1", kind: "Node", name: "node-1", uid: "node-1" };

function event(message: string, nowMicros: number, type = "Normal", object = OBJECT): Event {
  const source = { component: "rollcall", host: "node-1" };
  return makeEvent(object, source, type, "NodeReady", message, nowMicros, () => "uuid")!;
}

/** Returns the correlator after these messages were sent, one second apart. */
async function sent(messages: readonly string[], type?: string): Promise<EventCorrelator> {
  const server = createFakeApiserver(true);
  const correlator = newEventCorrelator();
  for (const [index, message] of messages.entries()) {
    const nowMicros = NOW + index * SECOND;
    const correlated = correlateEvent(correlator, event(message, nowMicros, type), nowMicros);
    if (correlated) await recordEvent(server.client, correlator, correlated);
  }
  return correlator;
}
const told = (correlator: EventCorrelator) =>
  recordedEvents(correlator).map(({ message, count, firstTimestamp, lastTimestamp }) =>
    [message, count, firstTimestamp.slice(17, 19), lastTimestamp.slice(17, 19)].join(" "),
  );

it.each<[situation: string, messages: string[], known: string[]]>([
  ["none", [], []],
  ["two different ones → the last one first", ["a", "b"], ["b 1 27 27", "a 1 26 26"]],
  ["one that repeats → counted, and moved to the front", ["a", "b", "a"], ["a 2 26 28", "b 1 27 27"]],
  ["of several lines → all of them", ["a\nb\n\nc"], ["a\nb\n\nc 1 26 26"]],
])("%s", async (_, messages, known) => {
  expect(told(await sent(messages))).toEqual(known);
});

it("type, reason and message → as they were sent", async () => {
  expect(recordedEvents(await sent(["a"], "Warning"))).toEqual([
    {
      type: "Warning",
      reason: "NodeReady",
      message: "a",
      count: 1,
      firstTimestamp: "2026-03-14T15:09:26Z",
      lastTimestamp: "2026-03-14T15:09:26Z",
    },
  ]);
});

it("many similar ones → the combined ones are one event, with its last message", async () => {
  const messages = Array.from({ length: 12 }, (_, index) => `m${index}`);
  const known = told(await sent(messages));
  expect(known).toHaveLength(10);
  expect(known[0]).toBe("(combined from similar events): m11 3 35 37");
});

it("dropped as spam, or not answered → not among the sent ones", () => {
  const correlator = newEventCorrelator();
  correlateEvent(correlator, event("a", NOW), NOW);
  expect(recordedEvents(correlator)).toEqual([]);
});

it("one event more than the burst → dropped, also if it refers to the Node by another uid", () => {
  const correlator = newEventCorrelator();
  const accepted = (at: number, uid: string) => {
    const sent = event(`m${at}`, NOW, "Normal", { ...OBJECT, uid });
    return correlateEvent(correlator, sent, NOW) !== null;
  };
  const burst = Array.from({ length: 25 }, (_, at) => accepted(at, at % 2 === 0 ? "node-1" : "5b2f"));
  expect(burst).toEqual(burst.map(() => true));
  expect([accepted(25, "node-1"), accepted(26, "5b2f")]).toEqual([false, false]);
});

it("stored by an earlier version → the last time is the first", async () => {
  const correlator = await sent(["a", "a"]);
  for (const observation of Object.values(correlator.observations)) delete observation.lastTimestamp;
  expect(told(correlator)).toEqual(["a 2 26 26"]);
});
