// Reduces the events of a machine to few writes: counts repetitions, combines similar events, drops spam. Mirrors
// EventCorrelator of client-go/tools/record.
import type { JsonObject } from "../kubernetes/json.ts";
import { formatSeconds } from "../kubernetes/micro-time.ts";
import type { Event } from "../kubernetes/types.ts";
import { type TokenBucket, tryAccept } from "./token-bucket.ts";

/**
 * Messages with one reason are combined from the 10th different one on, while they are at most 10 minutes apart.
 */
const MAX_SIMILAR_EVENTS = 10;
const SIMILAR_WITHIN_MICROS = 600_000_000;
/** Each type of event may be recorded 25 times in a row, then once in 5 minutes. Upstream's rate is a 32-bit float. */
const SPAM_BURST = 25;
const SPAM_PER_SECOND = Math.fround(1 / 300);
/**
 * Upstream remembers 4096 of each for all objects of a machine. A Node has fewer events, and all of them have to fit into
 * one row of SQLite.
 */
const MAX_REMEMBERED = 256;

/** Plain JSON, oldest first, so that it can be stored. The functions below change it. */
export interface EventCorrelator {
  aggregates: Record<string, Aggregate>;
  observations: Record<string, Observation>;
  buckets: Record<string, TokenBucket>;
}

interface Aggregate {
  messages: string[];
  lastMicros: number;
}

/** An event as it was last sent or returned. */
interface Observation {
  name: string;
  count: number;
  firstTimestamp: string;
  /** Upstream's cache has none. Absent if an earlier version stored the event. */
  lastTimestamp?: string;
  /** "" until the apiserver has returned the event. */
  resourceVersion: string;
}

/** An event that the apiserver has. Times are RFC 3339. */
export interface RecordedEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  /** Equal to `firstTimestamp` if an earlier version of rollcall stored the event. */
  lastTimestamp: string;
}

/** An event to create, or to patch if `patch` is not null (the count is above 1). */
export interface CorrelatedEvent {
  event: Event;
  patch: JsonObject | null;
}

export function newEventCorrelator(): EventCorrelator {
  return { aggregates: {}, observations: {}, buckets: {} };
}

/**
 * Upstream EventCorrelate. Returns null if the spam filter drops the event; a dropped event still counts. An event that
 * must not be dropped still takes a token, if there is one.
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

/** Remembers the event as the apiserver returned it (upstream UpdateState). */
export function rememberRecorded(correlator: EventCorrelator, event: Event): void {
  remember(correlator.observations, eventKey(event), observationOf(event));
}

/** Upstream EventAggregate. */
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
  // Upstream forgets an arbitrary message. Here it is the newest, so that a message that repeats stays combined.
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

/** Returns a name that is unique if no two events of an object have the same microsecond. */
export function eventName(objectName: string | undefined, nowMicros: number): string {
  return `${objectName ?? ""}.${(BigInt(Math.floor(nowMicros)) * 1000n).toString(16)}`;
}

/** Upstream eventObserve: returns a patch of the first event if it is a repetition. */
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

/** Upstream EventSourceObjectSpamFilter. */
function isSpam({ buckets }: EventCorrelator, event: Event, nowMicros: number): boolean {
  const key = joined(...sourceAndObject(event), event.type);
  const bucket = tryAccept(buckets[key], nowMicros, SPAM_BURST, SPAM_PER_SECOND);
  if (bucket !== null) remember(buckets, key, bucket);
  return bucket === null;
}

/** Upstream getEventKey. */
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

/** The number of parts of eventKey before the type. */
const PARTS_OF_SOURCE = 8;

/**
 * Returns the events that the apiserver has, the last one first, for operators. Upstream has no such function. A combined
 * event is remembered once for each message, and returned once.
 */
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

/** Stores the value as the newest, and forgets the oldest values beyond the limit. */
function remember<T>(memory: Record<string, T>, key: string, value: T): void {
  delete memory[key];
  memory[key] = value;
  const keys = Object.keys(memory);
  for (const oldest of keys.slice(0, Math.max(0, keys.length - MAX_REMEMBERED))) delete memory[oldest];
}
