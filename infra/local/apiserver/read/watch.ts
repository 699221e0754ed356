// Streams changes after a resourceVersion to a client, as JSON lines. Mirrors apiserver's cacher.Watch.
import { failure, success } from "../../../../shared/result.ts";
import { escapeHtml, type Representation } from "../answers/answer.ts";
import type { Change, Store } from "../store.ts";
import type { ListOptions } from "./list-options.ts";
import { type ApiObject, asJson, type Outcome } from "../object.ts";
import type { RequestInfo } from "../request-info.ts";
import type { ResourceType } from "../resource-type.ts";
import { type Asked, readListRequest } from "./select.ts";
import * as refuse from "../status.ts";
import { qualifiedResource } from "../status.ts";
import { unwritten } from "../fields/managers.ts";
import { showObject } from "../answers/table.ts";
import type { After } from "../timer.ts";
import type { Surroundings } from "../write/write.ts";

interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  object: ApiObject;
  /** The object as JSON, if already encoded. */
  text?: string;
}

/** The number of unread bytes at which a client is disconnected. The client then lists again. */
const maxWaitingBytes = 8 * 1024 * 1024;
/** The timeout of a watch without timeoutSeconds is this time to twice this time (--min-request-timeout). */
const defaultTimeoutMs = 1_800_000;
/** The longest time that a timer of Node.js supports, in milliseconds. */
const maxTimeoutMs = 2 ** 31 - 1;
/** Milliseconds between two bookmarks of a watch (cacher.defaultBookmarkFrequency). */
const bookmarkPeriodMs = 60_000;
/** Milliseconds between the last bookmark and the end of a watch (cacheWatcher.nextBookmarkTime). */
const lastBookmarkLeadMs = 2_000;

/** Returns what a watch with a selector sees of a change: ADDED, MODIFIED, DELETED, or undefined for nothing. */
function seenThrough(matches: Asked["matches"], change: Change): WatchEvent | undefined {
  const { object, previous, text } = change;
  const isSeen = change.type !== "DELETED" && matches(object);
  const wasSeen = previous !== undefined && matches(previous);
  if (isSeen) return { type: wasSeen ? "MODIFIED" : "ADDED", object, text };
  if (!wasSeen) return undefined;
  if (change.type === "DELETED") return { type: "DELETED", object, text };
  const metadata = { ...previous.metadata, resourceVersion: String(change.revision) };
  return { type: "DELETED", object: { ...previous, metadata } };
}

/** Returns a bookmark: an empty object with a resourceVersion up to which the client has all changes. */
function bookmark(type: ResourceType, revision: number, annotations?: Record<string, string>): WatchEvent {
  const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) };
  return { type: "BOOKMARK", object: { ...unwritten(type), metadata } };
}

/** Returns the bookmark that follows the existing objects. */
function endOfInitial(type: ResourceType, revision: number): WatchEvent {
  return bookmark(type, revision, { "k8s.io/initial-events-end": "true" });
}

/** Calls `send` once a minute and shortly before the watch ends. Returns a function that cancels the calls. */
function scheduleBookmarks(after: After, lengthMs: number, send: () => void): () => void {
  let cancel = () => {};
  const waitFrom = (elapsedMs: number) => {
    const dueMs = Math.min(elapsedMs + bookmarkPeriodMs, lengthMs - lastBookmarkLeadMs);
    if (dueMs <= elapsedMs) return;
    cancel = after(dueMs - elapsedMs, () => {
      waitFrom(dueMs);
      send();
    });
  };
  waitFrom(0);
  return () => cancel();
}

/** The events that a watch sends at once, and the revision after which it sends later changes. */
interface Start {
  events: WatchEvent[];
  revision: number;
}

function everything(store: Store, type: ResourceType, { options, matches }: Asked): Outcome<Start> {
  const revision = store.revision();
  if (options.resourceVersion > revision)
    return failure(refuse.revisionTooLarge(options.resourceVersion, revision));
  const objects = store.list(qualifiedResource(type)).filter(matches);
  const events = objects.map((object): WatchEvent => ({ type: "ADDED", object }));
  if (options.allowWatchBookmarks) events.push(endOfInitial(type, revision));
  return success({ events, revision });
}

/** Returns a watch's first events, or the error that a watch sends as its only event. Mirrors newErrWatcher. */
function startOf(store: Store, type: ResourceType, asked: Asked): Outcome<Start> {
  if (asked.options.sendInitialEvents) return everything(store, type, asked);
  const from = asked.options.resourceVersion || store.revision();
  const changes = store.changesSince(qualifiedResource(type), from);
  if (changes === "gone")
    return failure(refuse.expired(`too old resource version: ${from} (${store.revision()})`));
  const events = changes
    .map((change) => seenThrough(asked.matches, change))
    .filter((event) => event !== undefined);
  return success({ events, revision: Math.max(from, store.revision()) });
}

/** Returns a function that encodes events as lines. Only the first Table has column definitions. */
function createLines(type: ResourceType, shown: Representation, now: () => Date) {
  const encoder = new TextEncoder();
  let isFirst = true;
  return ({ type: eventType, object, text }: WatchEvent): Uint8Array => {
    const form = isFirst ? shown : { ...shown, headers: false };
    isFirst = false;
    const plain = shown.form === "object" ? (text ?? JSON.stringify(asJson(object))) : undefined;
    const body = plain ?? JSON.stringify(showObject(type, object, form, now()));
    return encoder.encode(`{"type":"${eventType}","object":${escapeHtml(body)}}\n`);
  };
}

function timeoutMs({ timeoutSeconds }: ListOptions, random: () => number): number {
  if (timeoutSeconds === 0) return defaultTimeoutMs * (1 + random());
  return Math.min(Math.max(0, timeoutSeconds * 1_000), maxTimeoutMs);
}

function streamOf(
  world: Surroundings,
  type: ResourceType,
  asked: Asked,
  start: Start,
  shown: Representation,
) {
  const { store, after } = world;
  const lineOf = createLines(type, shown, world.now);
  const initial = start.events.map(lineOf);
  const lengthMs = timeoutMs(asked.options, world.random);
  let end = () => {};
  const begin = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    for (const line of initial) controller.enqueue(line);
    const push = (event: WatchEvent) => {
      controller.enqueue(lineOf(event));
      if ((controller.desiredSize ?? 0) > 0) return;
      end();
      controller.error(new Error("the watcher does not read"));
    };
    const unsubscribe = store.subscribe((change) => {
      const event = seenThrough(asked.matches, change);
      if (event && change.revision > start.revision) push(event);
    }, qualifiedResource(type));
    const cancelEnd = after(lengthMs, () => {
      end();
      controller.close();
    });
    const endBookmarks = asked.options.allowWatchBookmarks
      ? scheduleBookmarks(after, lengthMs, () => push(bookmark(type, store.revision())))
      : () => {};
    end = () => {
      unsubscribe();
      cancelEnd();
      endBookmarks();
    };
  };
  const initialBytes = initial.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return new ReadableStream<Uint8Array>(
    { start: begin, cancel: () => end() },
    { highWaterMark: initialBytes + maxWaitingBytes, size: ({ byteLength }) => byteLength },
  );
}

/** Returns the body of a watch. The body ends after timeoutSeconds, or if the client disconnects or does not read. */
export function watchObjects(
  world: Surroundings,
  type: ResourceType,
  info: RequestInfo,
  query: URLSearchParams,
  shown: Representation,
): Outcome<ReadableStream<Uint8Array>> {
  const asked = readListRequest(type, info, query);
  if (!asked.ok) return asked;
  const start = startOf(world.store, type, asked.value);
  if (start.ok) return success(streamOf(world, type, asked.value, start.value, shown));
  const line = JSON.stringify({ type: "ERROR", object: start.error });
  return success(new Blob([`${line}\n`]).stream());
}
