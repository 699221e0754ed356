// Declares the requests that shared/ sends to an apiserver. The Worker and the tests implement these interfaces.
import type { ApiResult } from "./api-error.ts";
import type { JsonObject } from "./json.ts";
import type { Event, Lease, Node } from "./types.ts";

export interface NodeClient {
  /** Sends a POST. The client adds apiVersion and kind. */
  createNode(node: Node): Promise<ApiResult<Node>>;
  /** Sends a GET. `fromCache`: to the apiserver's cache, which may lag (upstream FromApiserverCache). */
  getNode(name: string, fromCache?: boolean): Promise<ApiResult<Node>>;
  /** Sends a strategic merge patch to `/status`. `original` is the Node that the patch starts from. */
  patchNodeStatus(original: Node, patch: JsonObject): Promise<ApiResult<Node>>;
}

export interface LeaseClient {
  getLease(namespace: string, name: string): Promise<ApiResult<Lease>>;
  /** Sends a POST. The client adds apiVersion and kind, here and in updateLease. */
  createLease(lease: Lease): Promise<ApiResult<Lease>>;
  /** Sends a PUT. The lease's resourceVersion is the precondition. */
  updateLease(lease: Lease): Promise<ApiResult<Lease>>;
}

export interface EventClient {
  createEvent(event: Event): Promise<ApiResult<Event>>;
  /** Sends a strategic merge patch. */
  patchEvent(event: Event, patch: JsonObject): Promise<ApiResult<Event>>;
}
