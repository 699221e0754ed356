// Sends all requests to the apiserver except the watch, each with a deadline. Errors contain the apiserver's Status.
import type { NodeFeature } from "../../shared/from-report/node-feature.ts";
import { type ApiError, type ApiResult, isUnauthorized } from "../../shared/kubernetes/api-error.ts";
import type { EventClient, LeaseClient, NodeClient } from "../../shared/kubernetes/client.ts";
import { isJsonObject, type Json, type JsonObject } from "../../shared/kubernetes/json.ts";
import { nodeSchema } from "../../shared/kubernetes/patch/node-schema.ts";
import { eventSchema, leaseSchema } from "../../shared/kubernetes/patch/object-schemas.ts";
import type { StructSchema } from "../../shared/kubernetes/patch/schema.ts";
import { patchWireForm, wireForm } from "../../shared/kubernetes/patch/wire-form.ts";
import type { Event, Lease, Node, NodeList, ObjectMeta, Status } from "../../shared/kubernetes/types.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import { failure, success } from "../../shared/result.ts";
import { withDeadline } from "./deadline.ts";
import { notTheApiservers, retryAfterMsOf } from "./not-the-apiserver.ts";
import type { ServiceAccount } from "./token.ts";
import { pause, type Timer } from "../clock.ts";

export interface KubeConnection {
  /** Sends an HTTP request; typically `KUBE.fetch`, or the global fetch. */
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The apiserver's URL, such as https://kube.example.com:6443. */
  url: string;
  /** Returns the ServiceAccount's current bearer token. */
  token: () => string;
  /** Reports whether the current token has expired. Absent: the token does not expire. */
  hasEnded?: () => boolean;
  /** Returns a token other than the refused or expired token, or null. Absent: the client has only one token. */
  otherToken?: (refused: string) => Promise<string | null>;
  /** The field manager of all writes: rollcall.<deployment>. */
  fieldManager: string;
  /** The time limit for all calls of a client, in milliseconds since the client was made. */
  withinMs: number;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Reports whether a request may be sent; if not, the request fails. Absent: all requests are sent. */
  mayAsk?: (what: RequestKind) => boolean;
  /** The timer of the calling object. Absent: each call has its own timer. */
  timer?: Timer | undefined;
}

/** The kind of object that a request is about. */
export type RequestKind = "lease" | "node" | "event" | "token" | "pod" | "feature";

/** The answer to a TokenRequest. */
export interface IssuedToken {
  status?: { token?: string };
}

/** The parameters of a request for one page of a list. */
export interface NodePage {
  /** A label selector, such as `rollcall.dev/deployment=rollcall`. */
  labelSelector: string;
  limit: number;
  /** The continue token of the previous page; undefined for the first page. */
  continue: string | undefined;
}

/** The part of the apiserver's own version that is used. */
export interface ServerVersion {
  /** For example v1.36.3-gke.1. */
  gitVersion: string;
}

export interface KubeClient extends NodeClient, LeaseClient, EventClient {
  getVersion: () => Promise<ApiResult<ServerVersion>>;
  listNodes: (page: NodePage) => Promise<ApiResult<NodeList>>;
  /** Lists the leases of Nodes with this label from the apiserver's cache. */
  listLeases: (labelSelector: string) => Promise<ApiResult<{ items: Lease[] }>>;
  /** Sends a strategic merge patch. The caller must add the preconditions to the patch. */
  patchNode: (original: Node, patch: JsonObject) => Promise<ApiResult<Node>>;
  /** Deletes the Node with this uid. If the Node has another uid, the result is a conflict. */
  deleteNode: (name: string, uid: string) => Promise<ApiResult<unknown>>;
  deleteLease: (namespace: string, name: string, uid: string) => Promise<ApiResult<unknown>>;
  /** Sends a merge patch of the pod's status, if the pod has not changed since. */
  patchPodStatus: (pod: ObjectMeta, status: JsonObject) => Promise<ApiResult<unknown>>;
  /** Deletes the pod with this uid without a grace period. */
  deletePod: (pod: ObjectMeta) => Promise<ApiResult<unknown>>;
  /** Reads the object of this name, which may be another writer's. */
  getNodeFeature: (
    namespace: string,
    name: string,
  ) => Promise<ApiResult<{ metadata: Pick<ObjectMeta, "annotations" | "uid"> }>>;
  /** Creates or changes the object by a server-side apply. Fields that another writer has set are a conflict. */
  applyNodeFeature: (object: NodeFeature) => Promise<ApiResult<NodeFeature>>;
  deleteNodeFeature: (namespace: string, name: string, uid: string) => Promise<ApiResult<unknown>>;
  /** Requests a token for the apiserver. The token expires after `seconds`, or when the Secret is deleted. */
  createToken: (account: ServiceAccount, secret: string, seconds: number) => Promise<ApiResult<IssuedToken>>;
}

const STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces";
const NODES = "/api/v1/nodes";
const VERSION = "/version";
const podPath = ({ namespace, name }: ObjectMeta) => `/api/v1/namespaces/${namespace}/pods/${name}`;
const eventsOf = ({ metadata }: Event) => `/api/v1/namespaces/${metadata.namespace}/events`;

export function kubeClient(connection: KubeConnection): KubeClient {
  const startedMs = connection.nowMs();
  const calls =
    (what: RequestKind) =>
    <T>(method: string, path: string, body?: unknown, contentType = "application/json") =>
      answered<T>(connection, startedMs, { what, method, path, body, contentType });
  const [call, callLease, callEvent] = [calls("node"), calls("lease"), calls("event")];
  const [callToken, callPod] = [calls("token"), calls("pod")];
  const patchNode = (path: string, patch: JsonObject) =>
    call<Node>("PATCH", path, patchWireForm(patch, nodeSchema), STRATEGIC_MERGE_PATCH);
  return {
    getVersion: () => call<ServerVersion>("GET", VERSION),
    createNode: (node) =>
      call<Node>("POST", NODES, object({ apiVersion: "v1", kind: "Node", ...node }, nodeSchema)),
    getNode: (name, fromCache = false) =>
      call<Node>("GET", `${NODES}/${name}${fromCache ? "?resourceVersion=0" : ""}`),
    listNodes: (page) => call<NodeList>("GET", pathOfPage(page)),
    listLeases: (labelSelector) => {
      const query = new URLSearchParams({ labelSelector, resourceVersion: "0" });
      return callLease("GET", `${LEASES}/${NODE_LEASE_NAMESPACE}/leases?${query.toString()}`);
    },
    patchNodeStatus: ({ metadata }, patch) =>
      patchNode(`${NODES}/${metadata?.name}/status`, withUid(patch, metadata?.uid)),
    patchNode: ({ metadata }, patch) => patchNode(`${NODES}/${metadata?.name}`, patch),
    deleteNode: (name, uid) => call("DELETE", `${NODES}/${name}`, deleteOptions(uid)),
    deleteLease: (namespace, name, uid) =>
      callLease("DELETE", `${LEASES}/${namespace}/leases/${name}`, deleteOptions(uid)),
    getLease: (namespace, name) => callLease<Lease>("GET", `${LEASES}/${namespace}/leases/${name}`),
    createLease: (lease) =>
      callLease<Lease>("POST", `${LEASES}/${lease.metadata?.namespace}/leases`, typedLease(lease)),
    updateLease: (lease) =>
      callLease<Lease>(
        "PUT",
        `${LEASES}/${lease.metadata?.namespace}/leases/${lease.metadata?.name}`,
        typedLease(lease),
      ),
    createEvent: (event) =>
      callEvent<Event>(
        "POST",
        eventsOf(event),
        object({ apiVersion: "v1", kind: "Event", ...event }, eventSchema),
      ),
    patchEvent: (event, patch) =>
      callEvent<Event>(
        "PATCH",
        `${eventsOf(event)}/${event.metadata.name}`,
        patchWireForm(patch, eventSchema),
        STRATEGIC_MERGE_PATCH,
      ),
    ...podCalls(callPod),
    ...nodeFeatureCalls(calls("feature")),
    createToken: ({ namespace, name }, secret, seconds) =>
      callToken<IssuedToken>(
        "POST",
        `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
        tokenRequest(secret, seconds),
      ),
  };
}

function pathOfPage({ labelSelector, limit, continue: token = "" }: NodePage): string {
  const query = new URLSearchParams({ labelSelector, limit: String(limit) });
  if (token !== "") query.set("continue", token);
  return `${NODES}?${query.toString()}`;
}

function tokenRequest(secret: string, expirationSeconds: number): JsonObject {
  const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: secret };
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: [], expirationSeconds, boundObjectRef },
  };
}

type CallPod = (
  method: string,
  path: string,
  body: object,
  contentType?: string,
) => Promise<ApiResult<unknown>>;

function podCalls(call: CallPod): Pick<KubeClient, "patchPodStatus" | "deletePod"> {
  return {
    patchPodStatus: ({ uid, resourceVersion, ...pod }, status) => {
      const body = { metadata: { uid, resourceVersion }, status };
      return call("PATCH", `${podPath(pod)}/status`, body, "application/merge-patch+json");
    },
    deletePod: ({ uid = "", ...pod }) =>
      call("DELETE", podPath(pod), { ...deleteOptions(uid), gracePeriodSeconds: 0 }),
  };
}

function nodeFeatureCalls(
  call: <T>(method: string, path: string, body?: object, contentType?: string) => Promise<ApiResult<T>>,
): Pick<KubeClient, "getNodeFeature" | "applyNodeFeature" | "deleteNodeFeature"> {
  const pathOf = (namespace: string, name: string) =>
    `/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/${namespace}/nodefeatures/${name}`;
  return {
    getNodeFeature: (namespace, name) => call("GET", pathOf(namespace, name)),
    applyNodeFeature: (object) => {
      const { namespace, name } = object.metadata;
      return call("PATCH", pathOf(namespace, name), object, "application/apply-patch+yaml");
    },
    deleteNodeFeature: (namespace, name, uid) => call("DELETE", pathOf(namespace, name), deleteOptions(uid)),
  };
}

/** Adds the Node's uid to a patch as a precondition, so that the patch does not change a Node that was created again. */
function withUid(patch: JsonObject, uid: string | undefined): JsonObject {
  if (uid === undefined) return patch;
  const metadata = isJsonObject(patch["metadata"]) ? patch["metadata"] : {};
  return { ...patch, metadata: { ...metadata, uid } };
}

function typedLease(lease: Lease): Json {
  return object({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...lease }, leaseSchema);
}

function object(content: Node | Lease | Event, schema: StructSchema): Json {
  return wireForm({ ...content }, schema);
}

function deleteOptions(uid: string): JsonObject {
  return { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid } };
}

interface Call {
  what: RequestKind;
  method: string;
  path: string;
  body: unknown;
  contentType: string;
}

/** The result of one request. `retryAfterMs` is absent if the answer has no Retry-After. */
type Attempt<T> = ApiResult<T> & { retryAfterMs?: number };

const NO_ANSWER = "no answer in time";
const NOT_ASKED: ApiError = {
  kind: "unanswered",
  message: "not asked: the machine has used up its requests to the apiserver",
  isUnsent: true,
};

/**
 * Repeats the request while the apiserver answers with Retry-After and the deadline allows another request, as
 * client-go does. After a 401 the request is repeated once, with another token.
 */
async function answered<T>(connection: KubeConnection, startedMs: number, call: Call): Promise<ApiResult<T>> {
  const late: Attempt<T> = failure({ kind: "unanswered", message: NO_ANSWER });
  // A clock that was put back does not extend the deadline.
  const leftMs = () => connection.withinMs - Math.max(0, connection.nowMs() - startedMs);
  let token = connection.token();
  const ask = async () => connection.otherToken?.(token) ?? null;
  const otherToken = () => withDeadline(leftMs(), ask, null, connection.timer);
  // After an eviction the object may have only an expired token: the object requests another before a 401 comes.
  if (connection.hasEnded?.()) token = (await otherToken()) ?? token;
  for (let isRepeated = false; ;) {
    if (leftMs() <= 0) return late;
    if (connection.mayAsk?.(call.what) === false) return failure(NOT_ASKED);
    const { retryAfterMs, ...answer } = await withDeadline<Attempt<T>>(
      leftMs(),
      (signal) => request<T>(connection, token, call, signal),
      late,
      connection.timer,
    );
    if (!answer.ok && isUnauthorized(answer.error) && !isRepeated) {
      const other = await otherToken();
      if (other === null) return answer;
      [token, isRepeated] = [other, true];
    } else if (retryAfterMs === undefined || retryAfterMs >= leftMs()) return answer;
    else await pause(retryAfterMs);
  }
}

/** Sends one request. Never rejects: without an answer the result is an `unanswered` error. */
async function request<T>(
  connection: KubeConnection,
  token: string,
  { method, path, body, contentType }: Call,
  signal: AbortSignal,
): Promise<Attempt<T>> {
  const query = method === "GET" ? "" : `?fieldManager=${encodeURIComponent(connection.fieldManager)}`;
  const headers: Record<string, string> = {
    accept: "application/json",
    authorization: `Bearer ${token}`,
    "user-agent": "rollcall",
  };
  if (body !== undefined) headers["content-type"] = contentType;
  try {
    const response = await connection.fetch(`${connection.url}${path}${query}`, {
      method,
      headers,
      signal,
      redirect: "manual",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const retryAfterMs = retryAfterMsOf(response);
    const answer = answerOf<T>({ method, path }, response, await response.text());
    return { ...answer, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return failure({ kind: "unanswered", message });
  }
}

/** Returns the apiserver's object, or its Status as error; the error `unanswered` if another server answered. */
function answerOf<T>(
  { method, path }: Pick<Call, "method" | "path">,
  response: Response,
  text: string,
): ApiResult<T> {
  const code = response.status;
  const body = parseObject(text);
  const ok = code >= 200 && code < 300;
  // The apiserver answers a DELETE with a Status if the object is removed at once.
  const isExpected = method === "DELETE" || body?.["kind"] !== "Status";
  // Each object of the apiserver has metadata; only its version has none.
  const isObject =
    path === VERSION ? typeof body?.["gitVersion"] === "string" : isJsonObject(body?.["metadata"]);
  if (ok && isExpected && isObject) return success(body as T);
  if (!ok && body?.["kind"] === "Status")
    return failure({ kind: "status", status: { ...(body as Status), code } });
  return failure(notTheApiservers(response, text));
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
