// What the steps in shared/ ask of an apiserver. Interfaces only: the Worker and the tests bring their own.
import type { ApiResult } from "./api-error.ts";
import type { JsonObject } from "./json.ts";
import type { Event, Lease, Node } from "./types.ts";

export interface NodeClient {
  /** POST; the client adds apiVersion and kind. */
  createNode(node: Node): Promise<ApiResult<Node>>;
  /** `fromCache`: as one apiserver's cache has it (resourceVersion=0, upstream FromApiserverCache), a moment old at most. */
  getNode(name: string, fromCache?: boolean): Promise<ApiResult<Node>>;
  /** PATCHes `/status` with a strategic merge patch. `original` is what the patch starts from: its name and uid. */
  patchNodeStatus(original: Node, patch: JsonObject): Promise<ApiResult<Node>>;
}

export interface LeaseClient {
  getLease(namespace: string, name: string): Promise<ApiResult<Lease>>;
  /** POST; the client adds apiVersion and kind, here and in updateLease. */
  createLease(lease: Lease): Promise<ApiResult<Lease>>;
  /** PUT; the lease's resourceVersion is the precondition. */
  updateLease(lease: Lease): Promise<ApiResult<Lease>>;
}

export interface EventClient {
  createEvent(event: Event): Promise<ApiResult<Event>>;
  /** PATCHes with a strategic merge patch. */
  patchEvent(event: Event, patch: JsonObject): Promise<ApiResult<Event>>;
}
