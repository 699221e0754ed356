// Sends an administrator's requests to the apiserver of an experiment, many at a time.
import { createHttpsClient } from "../infra/local/https-fetch.ts";
import type { NodeCondition, Taint } from "../../shared/kubernetes/types.ts";
import { setTimeout as wait } from "node:timers/promises";

/** The fields of Kubernetes objects that the experiments read. */
export interface KubeObject {
  metadata: {
    name: string;
    uid?: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
    generation?: number;
    ownerReferences?: object[];
  };
  spec?: {
    nodeName?: string;
    podCIDR?: string;
    taints?: Taint[];
  };
  status?: {
    conditions?: NodeCondition[];
    phase?: string;
    updatedNumberScheduled?: number;
    desiredNumberScheduled?: number;
    numberAvailable?: number;
    observedGeneration?: number;
  };
  /** The endpoints of an EndpointSlice; absent in other objects. */
  endpoints?: { conditions?: { ready?: boolean }; hints?: { forZones?: object[] } }[];
}

export const NODES = "/api/v1/nodes";
export const PODS = "/api/v1/namespaces/default/pods";
export const SERVICES = "/api/v1/namespaces/default/services";
export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** The number of requests that are open at the same time. */
const CONCURRENCY = 16;
const POLL_MS = 250;

export interface Kube {
  list: (path: string) => Promise<KubeObject[]>;
  /** Returns the object at a path; null if it does not exist. */
  get: (path: string) => Promise<KubeObject | null>;
  create: (path: string, object: object) => Promise<void>;
  /** Sends a JSON merge patch. Does nothing if the object does not exist. */
  patch: (path: string, patch: object) => Promise<void>;
  /** Deletes the object or the collection at a path, without a grace period. Does nothing if it does not exist. */
  remove: (path: string) => Promise<void>;
  close: () => void;
}

/** Returns a client of the apiserver. A refused request throws an error with the apiserver's answer. `caFile`: PEM. */
export function kubeOf({ url, caFile, adminToken }: Record<"url" | "caFile" | "adminToken", string>): Kube {
  const client = createHttpsClient(caFile);
  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = new Request(url + path, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": type },
      ...(body && { body: JSON.stringify(body) }),
    });
    const response = await client.fetch(request);
    const answer = await response.text();
    if (response.ok) return JSON.parse(answer);
    if (response.status === 404) return null;
    throw new Error(`${method} ${path}: ${response.status} ${answer.slice(0, 500)}`);
  }
  return {
    list: async (path) => ((await ask("GET", path)) as { items: KubeObject[] } | null)?.items ?? [],
    get: async (path) => (await ask("GET", path)) as KubeObject | null,
    async create(path, object) {
      if ((await ask("POST", path, object)) === null) throw new Error(`POST ${path}: 404`);
    },
    patch: async (path, patch) => void (await ask("PATCH", path, patch)),
    remove: async (path) => void (await ask("DELETE", path, { gracePeriodSeconds: 0 })),
    close: client.close,
  };
}

/** Runs `act` for each item, for CONCURRENCY items at the same time. */
export async function forAll<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Calls `read` until its value is not undefined, and returns that value. Returns undefined after `withinMs`. */
export async function within<T>(
  withinMs: number,
  read: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const deadline = performance.now() + withinMs; ; await wait(POLL_MS)) {
    const value = await read();
    if (value !== undefined || performance.now() > deadline) return value;
  }
}

/** Does the same as `within`, but throws after the time limit. `what`: the awaited event, for the error. */
export async function until<T>(
  withinMs: number,
  what: string,
  read: () => Promise<T | undefined>,
): Promise<T> {
  const value = await within(withinMs, read);
  if (value === undefined) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
  return value;
}

/** Calls `read` until its value has been the same for `quietMs`, but at most for `withinMs`. Returns the last value. */
export async function settled(
  { quietMs, withinMs }: { quietMs: number; withinMs: number },
  read: () => Promise<string>,
): Promise<string> {
  let value = await read();
  let sinceMs = performance.now();
  for (const deadline = performance.now() + withinMs; performance.now() < deadline;) {
    await wait(POLL_MS);
    const next = await read();
    if (next !== value) sinceMs = performance.now();
    value = next;
    if (performance.now() - sinceMs > quietMs) break;
  }
  return value;
}

export const nodeNamed = (name: string) => `${NODES}/${name}`;

export function readyOf({ status }: KubeObject): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

export function hasNoExecute({ spec }: KubeObject): boolean {
  return spec?.taints?.some(({ effect }) => effect === "NoExecute") ?? false;
}
