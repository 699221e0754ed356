// The events that a machine's object sent lately or has to send, as an operator is shown them. Asks the apiserver nothing: of
// those that were sent it has what their correlation remembers.
import { type EventCorrelator, recordedEvents } from "../../shared/events/correlator.ts";
import { SHOWN_LIMITS } from "../../shared/protocol/limits.ts";
import type { ShownEvent } from "../../shared/protocol/operator-answers.ts";
import type { Outbox } from "../storage/outbox.ts";

const at = (ms: number) => new Date(ms).toISOString();
/** What the apiserver has returned may lack its time. */
const msOf = (time: string) => Date.parse(time) || 0;

/** Newest first. `sent`: absent where nothing is remembered. */
export function shownEvents(outbox: Pick<Outbox, "latest">, sent: EventCorrelator | undefined): ShownEvent[] {
  const waiting = outbox.latest(SHOWN_LIMITS.events).map(({ atMs, ...event }): ShownEvent => {
    const time = at(atMs);
    return { ...event, count: 1, firstAt: time, lastAt: time, state: "waiting" };
  });
  const recorded = sent ? recordedEvents(sent) : [];
  const known = recorded.map(({ firstTimestamp, lastTimestamp, ...event }): ShownEvent => {
    return { ...event, firstAt: at(msOf(firstTimestamp)), lastAt: at(msOf(lastTimestamp)), state: "sent" };
  });
  const isLater = (a: ShownEvent, b: ShownEvent) => Date.parse(b.lastAt) - Date.parse(a.lastAt);
  return [...waiting, ...known].toSorted(isLater).slice(0, SHOWN_LIMITS.events);
}
