// Counts, combines and limits a machine's events to reduce writes. Mirrors EventCorrelator of client-go/tools/record.
import type { JsonObject } from "../kubernetes/json.ts";
import { formatSeconds } from "../kubernetes/micro-time.ts";
import type { Event } from "../kubernetes/types.ts";
import { type TokenBucket, tryAccept } from "./token-bucket.ts";

/** The number of different messages with one reason from which on the correlator combines events. */
const MAX_SIMILAR_EVENTS = 10;
const SIMILAR_WITHIN_MICROS = 600_000_000;
/** The number of events of one type that may be recorded in a row; after that, one event per 5 minutes (float32). */
const SPAM_BURST = 25;
const SPAM_PER_SECOND = Math.fround(1 / 300);
/** The number of entries in each memory; below upstream's 4096, because one row of SQLite holds all memories. */
const MAX_REMEMBERED = 256;

/** The correlator's memory, oldest entry first: plain JSON, to be stored. The functions of this file change it. */
export interface EventCorrelator {
  aggregates: Record<string, Aggregate>;
  observations: Record<string, Observation>;
  buckets: Record<string, TokenBucket>;
}

interface Aggregate {
  messages: string[];
  lastMicros: number;
}

/** An event as the Worker last sent it, or as the apiserver last returned it. */
interface Observation {
  name: string;
  count: number;
  firstTimestamp: string;
  /** The time of the event's last repetition, which upstream's type lacks; absent if an earlier version stored it. */
  lastTimestamp?: string;
  /** The version of the event in the apiserver; "" until the apiserver has returned the event. */
  resourceVersion: string;
}

/** An event that the apiserver has. Times are RFC 3339. */
export interface RecordedEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  /** The time of the last repetition; `firstTimestamp` if an earlier version of rollcall stored the event. */
  lastTimestamp: string;
}

/** An event to create if `patch` is null, otherwise an event to patch (its count is above 1). */
export interface CorrelatedEvent {
  event: Event;
  patch: JsonObject | null;
}

export function newEventCorrelator(): EventCorrelator {
  return { aggregates: {}, observations: {}, buckets: {} };
}

/**
 * Combines and counts the event (upstream EventCorrelate). Returns null if the spam filter drops it; a dropped
 * event still counts. With `mayDrop` false the event is kept, and takes a token of the spam filter if one is left.
 */
export function correlateEvent(
  correlator: EventCorrelator,
  event: Event,
  nowMicros: number, // microseconds since 1970
  mayDrop = true,
): CorrelatedEvent | null {
  const { aggregated, key } = aggregateEvent(correlator, event, nowMicros);
  const correlated = observeEvent(correlator, aggregated, key);
  return isSpam(correlator, correlated.event, nowMicros) && mayDrop ? null : correlated;
}

/** Stores the event that the apiserver returned (upstream UpdateState). */
export function rememberRecorded(correlator: EventCorrelator, event: Event): void {
  remember(correlator.observations, eventKey(event), observationOf(event));
}

/** Returns the event, or a combined event if many similar ones came before (upstream EventAggregate). */
function aggregateEvent(
  { aggregates }: EventCorrelator,
  event: Event,
  nowMicros: number,
): { aggregated: Event; key: string } {
  const aggregateKey = joined(
    ...sourceAndObject(event),
    event.type,
    event.reason,
    event.reportingComponent,
    event.reportingInstance,
  );
  const known = aggregates[aggregateKey];
  const isRecent = known !== undefined && nowMicros - known.lastMicros <= SIMILAR_WITHIN_MICROS;
  const messages = new Set(isRecent ? known.messages : []).add(event.message ?? "");
  const isCombined = messages.size >= MAX_SIMILAR_EVENTS;
  // Removes the newest message, so that repeated older messages stay combined. Upstream removes an arbitrary message.
  if (isCombined) messages.delete(event.message ?? "");
  remember(aggregates, aggregateKey, { messages: [...messages], lastMicros: nowMicros });
  if (!isCombined) return { aggregated: event, key: eventKey(event) };
  return { aggregated: combinedEvent(event, nowMicros), key: aggregateKey };
}

function combinedEvent(event: Event, nowMicros: number): Event {
  const { involvedObject, metadata, type, reason, source } = event;
  const now = formatSeconds(nowMicros);
  return {
    metadata: { name: eventName(involvedObject.name, nowMicros), namespace: metadata.namespace ?? "" },
    involvedObject,
    ...(type === undefined ? {} : { type }),
    ...(reason === undefined ? {} : { reason }),
    ...(source === undefined ? {} : { source }),
    message: `(combined from similar events): ${event.message ?? ""}`,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    reportingComponent: "",
    reportingInstance: "",
  };
}

/** Returns the name of a new event. The name is unique if no two events of an object have the same microsecond. */
export function eventName(objectName: string | undefined, nowMicros: number): string {
  return `${objectName ?? ""}.${(BigInt(Math.floor(nowMicros)) * 1000n).toString(16)}`;
}

/** Counts the event (upstream eventObserve). If the event repeats an earlier one, returns a patch of that one. */
function observeEvent({ observations }: EventCorrelator, event: Event, key: string): CorrelatedEvent {
  const last = observations[key];
  if (last === undefined || last.count === 0) {
    remember(observations, key, observationOf(event));
    return { event, patch: null };
  }
  const { name, resourceVersion, firstTimestamp } = last;
  const count = last.count + 1;
  const repeated: Event = {
    ...event,
    metadata: { ...event.metadata, name, resourceVersion },
    firstTimestamp,
    count,
  };
  remember(observations, key, observationOf(repeated));
  const patch: JsonObject = { count };
  if (event.lastTimestamp !== undefined) patch.lastTimestamp = event.lastTimestamp;
  if (event.message) patch.message = event.message;
  return { event: repeated, patch };
}

function observationOf({ metadata, count, firstTimestamp, lastTimestamp }: Event): Observation {
  return {
    name: metadata.name ?? "",
    count: count ?? 0,
    firstTimestamp: firstTimestamp ?? "",
    ...(lastTimestamp !== undefined && { lastTimestamp }),
    resourceVersion: metadata.resourceVersion ?? "",
  };
}

/**
 * Takes a token of the spam filter. Returns true if none is left (upstream EventSourceObjectSpamFilter). References with
 * and without a Node's uid share their tokens; upstream counts each by itself.
 */
function isSpam({ buckets }: EventCorrelator, event: Event, nowMicros: number): boolean {
  const { source, involvedObject } = event;
  const { kind, namespace, name, apiVersion } = involvedObject;
  const key = joined(source?.component, source?.host, kind, namespace, name, apiVersion, event.type);
  const bucket = tryAccept(buckets[key], nowMicros, SPAM_BURST, SPAM_PER_SECOND);
  if (bucket !== null) remember(buckets, key, bucket);
  return bucket === null;
}

/** Returns a key that is equal for repetitions of one event (upstream getEventKey). */
function eventKey(event: Event): string {
  const [component, host, kind, namespace, name, uid, apiVersion] = sourceAndObject(event);
  const { fieldPath } = event.involvedObject;
  return joined(
    component,
    host,
    kind,
    namespace,
    name,
    fieldPath,
    uid,
    apiVersion,
    event.type,
    event.reason,
    event.message,
  );
}

function sourceAndObject({ source, involvedObject }: Event) {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return [source?.component, source?.host, kind, namespace, name, uid, apiVersion] as const;
}

/** The number of lines before the type in a key of eventKey. */
const PARTS_OF_SOURCE = 8;

/** Returns the events that the apiserver has, the last first, combined ones once. Upstream has no such function. */
export function recordedEvents({ observations }: EventCorrelator): RecordedEvent[] {
  const found = new Map<string, RecordedEvent>();
  for (const [key, { name, count, firstTimestamp, lastTimestamp, resourceVersion }] of Object.entries(
    observations,
  ).toReversed()) {
    if (resourceVersion === "" || found.has(name)) continue;
    const [type = "", reason = "", ...message] = key.split("\n").slice(PARTS_OF_SOURCE);
    const times = { firstTimestamp, lastTimestamp: lastTimestamp ?? firstTimestamp };
    found.set(name, { type, reason, message: message.join("\n"), count, ...times });
  }
  return [...found.values()];
}

function joined(...parts: (string | undefined)[]): string {
  return parts.join("\n");
}

/** Stores the value as the newest, and deletes the oldest values beyond MAX_REMEMBERED. */
function remember<T>(memory: Record<string, T>, key: string, value: T): void {
  delete memory[key];
  memory[key] = value;
  const keys = Object.keys(memory);
  for (const oldest of keys.slice(0, Math.max(0, keys.length - MAX_REMEMBERED))) delete memory[oldest];
}
