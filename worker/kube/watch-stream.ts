// Watches the objects of one resource until the timeout or SILENT_FOR_MS without data. Each change is a line of JSON.
import { type ApiError, isUnauthorized } from "../../shared/kubernetes/api-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../shared/kubernetes/json.ts";
import type { Node, ObjectMeta, Status } from "../../shared/kubernetes/types.ts";
import { withDeadline } from "./deadline.ts";
import type { KubeConnection } from "./kube-client.ts";
import { notTheApiservers, retryAfterMsOf } from "./not-the-apiserver.ts";
import { oneTimer, type Timer } from "../clock.ts";

/** An object as the apiserver sends it. */
interface Watched {
  metadata?: ObjectMeta;
}

/** A change in the watch. `length`: the number of characters of its line. */
export type Change<Thing extends Watched> =
  | { type: "ADDED" | "MODIFIED"; object: Thing; length: number }
  /** The object was deleted or does not match the selector any more. `object`: the object's last state. */
  | { type: "DELETED"; object: Thing; length: number }
  /** A bookmark: the watch has sent all changes up to this version. */
  | { type: "BOOKMARK"; version: string; length: number };
export type NodeChange = Change<Node>;

/** How a watch ended. */
export type WatchEnd =
  /** The timeout, the apiserver or the caller ended the watch. The next watch continues from the last version. */
  | { kind: "ended" }
  /** The apiserver does not have this version any more: the objects must be listed again. */
  | { kind: "expired" }
  | { kind: "failed"; error: ApiError; retryAfterMs?: number };

export interface WatchRequest<Thing extends Watched = Node> {
  /** The watched resource of the API group `""`, in all namespaces. */
  resource: "nodes" | "pods";
  /** Which objects are watched, such as { labelSelector: "rollcall.dev/deployment=rollcall" }. */
  selector: { labelSelector: string } | { fieldSelector: string };
  /** The resourceVersion after which the watch begins. "0": the watch first sends all objects as ADDED. */
  version: string;
  timeoutSeconds: number;
  /** Ends the watch early. */
  signal: AbortSignal;
  /** Called when the apiserver begins to answer. */
  onOpen: () => void;
  onChange: (change: Change<Thing>) => void;
}

const ANSWER_WITHIN_MS = 10_000;
/** The time without any line after which a watch has failed. An apiserver sends a bookmark about once a minute. */
export const SILENT_FOR_MS = 120_000;
/** The interval of the checks for SILENT_FOR_MS. */
export const LOOK_EVERY_MS = 1000;
/** The limit of characters of one line. etcd takes objects of 1.5 MiB. */
export const MAX_LINE = 2 * 1024 * 1024;

type Connection = Pick<KubeConnection, "fetch" | "url" | "token" | "otherToken" | "timer">;

/** Runs one watch and returns how it ended. Tries another token once after a 401. Rejects only if `otherToken` does. */
export async function watchObjects<Thing extends Watched>(
  connection: Connection,
  request: WatchRequest<Thing>,
): Promise<WatchEnd> {
  const token = connection.token();
  const end = await watchWith(token, connection, request);
  const isRefused = end.kind === "failed" && isUnauthorized(end.error);
  const other = isRefused ? await connection.otherToken?.(token) : undefined;
  return typeof other === "string" ? watchWith(other, connection, request) : end;
}

async function watchWith<Thing extends Watched>(
  token: string,
  connection: Connection,
  request: WatchRequest<Thing>,
): Promise<WatchEnd> {
  if (request.signal.aborted) return { kind: "ended" };
  const abort = new AbortController();
  const signal = AbortSignal.any([request.signal, abort.signal]);
  try {
    const ask = () => connection.fetch(urlOf(connection.url, request), initOf(token, signal));
    const response = await withDeadline<Response | null>(ANSWER_WITHIN_MS, ask, null, connection.timer);
    if (response === null) return unanswered("no answer in time");
    if (response.status !== 200 || !response.body) return await refusal(response, connection.timer);
    request.onOpen();
    return await readChanges(response.body, request);
  } catch (error) {
    return request.signal.aborted ? { kind: "ended" } : unanswered(textOf(error));
  } finally {
    abort.abort();
  }
}

type Query = Pick<WatchRequest, "resource" | "selector" | "version" | "timeoutSeconds">;

function urlOf(url: string, { resource, selector, version, timeoutSeconds }: Query): string {
  const query = new URLSearchParams({
    watch: "1",
    ...selector,
    resourceVersion: version,
    allowWatchBookmarks: "true",
    timeoutSeconds: String(timeoutSeconds),
  });
  return `${url}/api/v1/${resource}?${query.toString()}`;
}

function initOf(token: string, signal: AbortSignal): RequestInit {
  const headers = { accept: "application/json", authorization: `Bearer ${token}`, "user-agent": "rollcall" };
  return { method: "GET", headers, redirect: "manual", signal };
}

async function refusal(response: Response, timer: Timer | undefined): Promise<WatchEnd> {
  const text = await withDeadline(ANSWER_WITHIN_MS, () => response.text(), "", timer);
  const status = parsed(text);
  const isStatus = status?.["kind"] === "Status";
  // An overloaded apiserver answers in plain text, so an answer without a Status may be the apiserver's.
  const end: WatchEnd = isStatus
    ? endOf({ ...(status as Status), code: response.status })
    : { kind: "failed", error: notTheApiservers(response, text) };
  const retryAfterMs = retryAfterMsOf(response);
  return end.kind === "failed" && retryAfterMs !== undefined ? { ...end, retryAfterMs } : end;
}

/** Reads changes until the stream ends or a line is invalid, since the later lines would be unreliable. */
async function readChanges<Thing extends Watched>(
  body: ReadableStream,
  request: WatchRequest<Thing>,
): Promise<WatchEnd> {
  // One timer serves the whole watch: a watch has thousands of reads, and workerd keeps memory of each cleared timer.
  const timer = oneTimer(LOOK_EVERY_MS);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      if (request.signal.aborted) return { kind: "ended" };
      const next = () => untilAborted(reader.read(), request.signal);
      const read = await withDeadline(SILENT_FOR_MS, next, null, timer);
      if (read === null) return unanswered(`nothing came for ${SILENT_FOR_MS / 1000} s`);
      if (read.done) return { kind: "ended" };
      const lines = (rest + read.value).split("\n");
      rest = lines.pop() ?? "";
      if ([rest, ...lines].some(({ length }) => length > MAX_LINE))
        return unanswered(`a change is longer than ${MAX_LINE} characters`);
      for (const line of lines) {
        const end = line === "" ? undefined : take(line, request);
        if (end) return end;
      }
    }
  } finally {
    // The stream is cancelled: an unread stream would keep the object awake.
    void reader.cancel().catch(() => undefined);
  }
}

type Read = ReadableStreamReadResult<string>;

async function untilAborted(read: Promise<Read>, signal: AbortSignal): Promise<Read> {
  const ended = Promise.withResolvers<Read>();
  const end = () => ended.resolve({ done: true, value: undefined });
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([read, ended.promise]);
  } finally {
    // The listener is removed, since a watch has thousands of reads, each with a listener.
    signal.removeEventListener("abort", end);
  }
}

function take<Thing extends Watched>(
  line: string,
  { onChange }: Pick<WatchRequest<Thing>, "onChange">,
): WatchEnd | undefined {
  const { type, object } = parsed(line) ?? {};
  if (!isJsonObject(object)) return unanswered("a line of the watch is no change");
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const { name, resourceVersion: version } = metadata;
  const { length } = line;
  if (type === "BOOKMARK" && typeof version === "string") {
    onChange({ type, version, length });
    return undefined;
  }
  if ((type === "ADDED" || type === "MODIFIED" || type === "DELETED") && typeof name === "string") {
    onChange({ type, object: object as unknown as Thing, length });
    return undefined;
  }
  if (type === "ERROR") return endOf(object);
  return unanswered("a line of the watch is no change");
}

/** Returns how the watch ended. A version that is too new also counts as expired: etcd was restored since. */
function endOf(status: Status): WatchEnd {
  const { code, reason, details } = status;
  const isTooNew = (details?.causes ?? []).some((cause) => cause.reason === "ResourceVersionTooLarge");
  if (code === 410 || reason === "Expired" || reason === "Gone" || isTooNew) return { kind: "expired" };
  return { kind: "failed", error: { kind: "status", status } };
}

function unanswered(message: string): WatchEnd {
  return { kind: "failed", error: { kind: "unanswered", message } };
}

function parsed(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
