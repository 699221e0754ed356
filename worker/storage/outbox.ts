// Stores the events that the apiserver does not have yet: one row for each, written with the decision that caused
// the event. Sends the events in order, and counts and combines repeated events as client-go does.
import type { KubeClient } from "../kube/kube-client.ts";
import type { NodeRecordStore } from "./records.ts";
import { shortened } from "./shortened.ts";
import type { Tables } from "./tables.ts";
import { correlateEvent, type EventCorrelator, newEventCorrelator } from "../../shared/events/correlator.ts";
import { makeEvent, nodeReference, recordEvent } from "../../shared/events/events.ts";
import type { EventReason } from "../../shared/kubernetes/event-reasons.ts";
import { type ApiError, isAlreadyExists } from "../../shared/kubernetes/api-error.ts";

export interface OccurredEvent {
  type: string;
  reason: string;
  message: string;
}

export type Outbox = ReturnType<typeof eventOutbox>;

/** The most waiting events: a limit on the rows that an outage of the apiserver can cost. */
export const MAX_OUTBOX_EVENTS = 1000;
/** The most characters of an event's message (NoteLengthLimit of events.k8s.io). A longer message is cut. */
export const MAX_EVENT_MESSAGE = 1024;

/** The events that the spam filter never drops, since they show whether a machine is up. */
const CHANGES_OF_READY: readonly string[] = ["NodeReady", "NodeNotReady"] satisfies EventReason[];

/**
 * The events that refer to the Node by its name alone, as by upstream's nodeRef. NodeNameTaken is about the Node of another
 * owner. All other events have the Node's uid, as by upstream's nodeRefWithUID.
 */
const BY_NAME: readonly string[] = [
  "EvictionThresholdMet",
  "InvalidDiskCapacity",
  "NodeNameTaken",
  "Shutdown",
  "SystemOOM",
] satisfies EventReason[];

type Row = { id: number; at_micros: number; type: string; reason: string; message: string };

/** Inserts all events of a call, since a statement costs more than a row. */
const INSERT = `INSERT INTO outbox (at_micros, type, reason, message)
  SELECT ? + key, value ->> 'type', value ->> 'reason', value ->> 'message' FROM json_each(?)`;

/** Returns the outbox of a machine's object. `records` stores the correlator and the number of dropped events. */
export function eventOutbox(storage: DurableObjectStorage, tables: Tables, records: NodeRecordStore) {
  const { sql } = storage;
  const count = "SELECT COUNT(*) AS waiting, MAX(at_micros) AS last FROM outbox";
  let { waiting, last } = tables.exist()
    ? sql.exec<{ waiting: number; last: number | null }>(count).one()
    : { waiting: 0, last: null };
  let flushing: Promise<ApiError | null> | undefined;

  function removeUntil(id: number): void {
    waiting -= sql.exec("DELETE FROM outbox WHERE id <= ? RETURNING id", id).toArray().length;
  }

  function remove(ids: readonly number[]): void {
    const removed = "DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?)) RETURNING id";
    waiting -= sql.exec(removed, JSON.stringify(ids)).toArray().length;
  }

  /** Sends waiting events, then removes them. If an eviction comes between, sends the events again with equal names. */
  async function flush(client: KubeClient, nodeName: string, nowMs: () => number): Promise<ApiError | null> {
    const before = records.get("correlator");
    let known = before ?? newEventCorrelator();
    const sent: number[] = [];
    let failed: ApiError | null = null;
    for (const row of inTheirOrder(sql)) {
      const learnt = structuredClone(known);
      failed = await send(client, records, nodeName, row, learnt, nowMs() * 1000);
      if (failed) break;
      known = learnt;
      sent.push(row.id);
    }
    if (sent.length === 0) return failed;
    storage.transactionSync(() => {
      remove(sent);
      // If a shim process has started while events were sent, the new process's correlator stays empty.
      if (records.get("correlator") === before) records.put("correlator", known);
    });
    return failed;
  }

  function dropOldest(): void {
    const surplus = waiting - MAX_OUTBOX_EVENTS;
    const nth = "SELECT id FROM outbox ORDER BY id LIMIT 1 OFFSET ?";
    removeUntil(sql.exec<{ id: number }>(nth, surplus - 1).one().id);
    records.put("eventsDropped", (records.get("eventsDropped") ?? 0) + surplus);
  }

  return {
    /** Stores events. Above MAX_OUTBOX_EVENTS, drops the oldest. Call add in the transaction of the decision. */
    add(events: readonly OccurredEvent[], nowMs: number): void {
      if (events.length === 0) return;
      tables.make();
      // The times become the events' names and must differ, but workerd's clock stands still while code runs.
      const first = Math.max(nowMs * 1000, (last ?? 0) + 1);
      const bounded = events.map((event) => ({
        ...event,
        message: shortened(event.message, MAX_EVENT_MESSAGE),
      }));
      sql.exec(INSERT, first, JSON.stringify(bounded));
      last = first + events.length - 1;
      waiting += events.length;
      if (waiting > MAX_OUTBOX_EVENTS) dropOldest();
    },
    isEmpty: () => waiting === 0,
    /** Returns the number of waiting events, and the time of the oldest; null if no event waits. */
    standing: () => ({ waiting, oldestMs: waiting === 0 ? null : oldestMs(sql) }),
    /** Returns up to `limit` waiting events, newest first. */
    latest: (limit: number) => (waiting === 0 ? [] : latest(sql, limit)),
    /**
     * Sends events until one fails with an error that may pass; returns that error. Changes of Ready are sent
     * first, since the many events of a restarting machine may wait for minutes; then the oldest events. Only one
     * flush runs at a time, so that a report and an alarm do not send the same event.
     */
    flush: (client: KubeClient, nodeName: string, nowMs: () => number): Promise<ApiError | null> =>
      (flushing ??= flush(client, nodeName, nowMs).finally(() => (flushing = undefined))),
  };
}

/** Yields the waiting events in the order of sending, including events that are added during the iteration. */
function* inTheirOrder(sql: SqlStorage): Generator<Row> {
  const isChange = "reason IN (SELECT value FROM json_each(?))";
  const changes = sql
    .exec<Row>(`SELECT * FROM outbox WHERE ${isChange} ORDER BY id`, JSON.stringify(CHANGES_OF_READY))
    .toArray();
  yield* changes;
  const sent = new Set(changes.map(({ id }) => id));
  const after = (id: number) =>
    sql.exec<Row>("SELECT * FROM outbox WHERE id > ? ORDER BY id LIMIT 1", id).toArray()[0];
  for (let row = after(0); row; row = after(row.id)) if (!sent.has(row.id)) yield row;
}

/** Sends an event. Returns null if the event was sent, dropped as spam, or refused for good; otherwise the error. */
async function send(
  client: KubeClient,
  records: NodeRecordStore,
  name: string,
  { at_micros, type, reason, message }: Row,
  learnt: EventCorrelator,
  nowMicros: number,
): Promise<ApiError | null> {
  const uid = BY_NAME.includes(reason) ? undefined : records.get("node")?.node.metadata?.uid;
  const involvedObject = nodeReference(name, uid);
  const source = { component: "rollcall", host: name };
  const eventName = () => `${name}.${at_micros}`;
  const event = makeEvent(involvedObject, source, type, reason, message, at_micros, eventName);
  const mayDrop = !CHANGES_OF_READY.includes(reason);
  const correlated = event && correlateEvent(learnt, event, nowMicros, mayDrop);
  if (!correlated) return null;
  const recorded = await recordEvent(client, learnt, correlated);
  if (recorded.ok || isAlreadyExists(recorded.error)) return null;
  return isForGood(recorded.error) ? null : recorded.error;
}

/** Reports whether the apiserver would refuse the same request again. Errors of access, load and the server may pass. */
function isForGood(error: ApiError): boolean {
  const code = error.kind === "status" ? (error.status.code ?? 0) : 0;
  return code >= 400 && code < 500 && ![401, 403, 408, 429].includes(code);
}

function latest(sql: SqlStorage, limit: number): (OccurredEvent & { atMs: number })[] {
  const query = "SELECT * FROM outbox ORDER BY id DESC LIMIT ?";
  return sql
    .exec<Row>(query, limit)
    .toArray()
    .map(({ type, reason, message, at_micros }) => ({ type, reason, message, atMs: at_micros / 1000 }));
}

function oldestMs(sql: SqlStorage): number {
  const oldest = "SELECT MIN(at_micros) / 1000 AS ms FROM outbox";
  return sql.exec<{ ms: number }>(oldest).one().ms;
}
