// Runs the recordings of the event recorder.
import {
  type CorrelatedEvent,
  correlateEvent,
  type EventCorrelator,
  newEventCorrelator,
} from "../../../shared/events/correlator.ts";
import { makeEvent, nodeReference, recordEvent } from "../../../shared/events/events.ts";
import type { EventClient } from "../../../shared/kubernetes/client.ts";
import { parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import { createFakeApiserver } from "../fake-apiserver.ts";
import type { Family, Json } from "../family.ts";

const eventsFamily: Family = {
  async run({ source, involvedObject, start, steps }) {
    const server = createFakeApiserver(false);
    const correlator = newEventCorrelator();
    let nowMicros = parseMicroTime(start);
    const answers: Json[] = [];
    for (const step of steps) {
      nowMicros += step.advanceMs * 1000;
      if (step.delete) server.remove("events");
      server.force(step.outcomes);
      const { type, reason, message } = step;
      const event = makeEvent(involvedObject, source, type, reason, message, nowMicros, neverNamed);
      const correlated = event && correlateEvent(correlator, event, nowMicros);
      if (correlated) await recordToSink(server.client, correlator, correlated);
      answers.push({ calls: server.takeCalls() });
    }
    return { steps: answers };
  },
};

/**
 * The maximum number of tries to write an event: upstream's maxTriesPerEvent. Upstream waits 10 s between two
 * tries.
 */
const MAX_TRIES_PER_EVENT = 12;

/** Writes an event like upstream's recordToSink, without its pauses. */
async function recordToSink(
  client: EventClient,
  correlator: EventCorrelator,
  event: CorrelatedEvent,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_TRIES_PER_EVENT; attempt++) {
    const recorded = await recordEvent(client, correlator, event);
    if (recorded.ok || recorded.error.kind === "status") return;
  }
}

function neverNamed(): never {
  throw new Error("these objects' names are good for events");
}

/** Keeps the last known Node, as the Worker's record does. Upstream's reference has no uid before a Node is known. */
const eventReference: Family = {
  run({ nodeName, listers }) {
    let uid: string | undefined;
    const references = listers.map((node: Json) => {
      uid = node?.metadata.uid ?? uid;
      const { uid: named, ...reference } = nodeReference(nodeName, uid);
      return uid === undefined ? reference : { ...reference, uid: named };
    });
    return { references };
  },
};

export const events: Record<string, Family> = { events: eventsFamily, eventReference };
