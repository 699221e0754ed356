// Reads the objects for the checks of rollcall impact, each list page by page. A list that the operator may not
// read is reported and is no error. kubectl-reader.ts sends the requests with kubectl, and
// infra/local/users-cluster.ts over HTTPS.
import type { V1ConfigMap, V1Node } from "@kubernetes/client-node";
import { failure, type Result, success } from "../../shared/result.ts";
import {
  type ClusterObjects,
  CUSTOM,
  type CustomObjects,
  emptyCluster,
  type ListedObjects,
  LISTS,
} from "./cluster-objects.ts";
import { configMapsOf } from "./programs.ts";

/** The reason of a failed request. `unreachable`: no apiserver answered. `usage`: wrong kubeconfig or context. */
type ReadReason =
  | "forbidden"
  | "unauthorized"
  | "absent"
  | "expired"
  | "refused"
  | "unreachable"
  | "usage"
  | "not-kubernetes";

export interface ReadFault {
  reason: ReadReason;
  /** The apiserver's message, or an error text if the apiserver did not answer. The text may have several lines. */
  message: string;
}

export interface ClusterReader {
  /** Sends a GET for a path with its query, like `/api/v1/nodes?limit=500`. Returns the JSON of the answer. */
  get: (path: string) => Promise<Result<unknown, ReadFault>>;
  /** Creates the Node with `dryRun=All`: the apiserver runs admission, but stores nothing. */
  tryNode: (node: V1Node) => Promise<Result<unknown, ReadFault>>;
}

/** The number of objects per page. Nodes are the largest objects, with about 20 kB each. */
const PAGE_SIZE = 500;
/** The number of attempts to read a list, whose pages expire after five minutes. */
const ATTEMPTS = 2;

interface ListPage {
  items: unknown[];
  metadata?: { continue?: string };
}

/** Reads all pages of a list. Starts once more if a page has expired. */
export async function listAll(reader: ClusterReader, path: string): Promise<Result<unknown[], ReadFault>> {
  for (let attempt = 1; ; attempt++) {
    const listed = await listOnce(reader, path);
    if (listed.ok || listed.error.reason !== "expired" || attempt === ATTEMPTS) return listed;
  }
}

async function listOnce(reader: ClusterReader, path: string): Promise<Result<unknown[], ReadFault>> {
  const items: unknown[] = [];
  let next = "";
  do {
    const query =
      next === "" ? `limit=${PAGE_SIZE}` : `limit=${PAGE_SIZE}&continue=${encodeURIComponent(next)}`;
    const answer = await reader.get(`${path}${path.includes("?") ? "&" : "?"}${query}`);
    if (!answer.ok) return answer;
    if (!isListPage(answer.value)) return failure(notKubernetes(`${path}: the answer is no list`));
    items.push(...answer.value.items);
    next = answer.value.metadata?.continue ?? "";
  } while (next !== "");
  return success(items);
}

function isListPage(answer: unknown): answer is ListPage {
  return typeof answer === "object" && answer !== null && Array.isArray((answer as ListPage).items);
}

/** Parses an answer as JSON. Returns an error for the answer of another server, such as a proxy's page. */
export function parseAnswer(text: string): Result<unknown, ReadFault> {
  try {
    return success(JSON.parse(text) as unknown);
  } catch {
    const start = text.trimStart().slice(0, 60).replaceAll(/\s+/g, " ");
    return failure(notKubernetes(`the answer is no JSON: ${start}`));
  }
}

function notKubernetes(message: string): ReadFault {
  return { reason: "not-kubernetes", message };
}

/** The reasons that would fail each further request too, so that reading ends. */
const FATAL: ReadonlySet<ReadFault["reason"]> = new Set([
  "unreachable",
  "unauthorized",
  "usage",
  "not-kubernetes",
]);

/** Reads the cluster with GET requests, one after the other; PersistentVolumes only if `hasVolumes` is true. */
export async function readCluster(
  reader: ClusterReader,
  { hasVolumes }: { hasVolumes: boolean },
): Promise<Result<ClusterObjects, ReadFault>> {
  const cluster = emptyCluster();
  const version = await reader.get("/version");
  if (!version.ok && FATAL.has(version.error.reason)) return version;
  if (version.ok) cluster.version = (version.value as { gitVersion?: string }).gitVersion ?? null;
  for (const [name, path] of Object.entries(LISTS) as [keyof ListedObjects, string][]) {
    if (name === "persistentVolumes" && !hasVolumes) continue;
    const fault = await readInto(reader, cluster, name, path);
    if (fault !== null) return failure(fault);
  }
  const fault = (await readCustom(reader, cluster)) ?? (await readConfigMaps(reader, cluster));
  return fault === null ? success(cluster) : failure(fault);
}

/** Reads one list into `cluster`. Returns the fault if reading must end, otherwise null. */
async function readInto(
  reader: ClusterReader,
  cluster: ClusterObjects,
  name: keyof ListedObjects | keyof CustomObjects,
  path: string,
): Promise<ReadFault | null> {
  const listed = await listAll(reader, path);
  if (listed.ok) (cluster[name] as unknown[]).push(...listed.value);
  else return noteUnread(cluster, resourceOf(path), listed.error);
  return null;
}

function resourceOf(url: string): string {
  const [path = ""] = url.split("?");
  const resource = path.split("/").at(-1) ?? path;
  return path.includes("/namespaces/") ? `${resource} in ${path.split("/").at(-2)}` : resource;
}

function noteUnread(cluster: ClusterObjects, what: string, fault: ReadFault): ReadFault | null {
  if (FATAL.has(fault.reason)) return fault;
  const why = fault.reason === "refused" ? fault.message : fault.reason;
  if (fault.reason !== "absent") cluster.unread.push({ what, why });
  return null;
}

interface GroupList {
  groups?: { name: string; preferredVersion?: { groupVersion?: string } }[];
}

/** Reads the custom resources of the groups that the cluster serves. */
async function readCustom(reader: ClusterReader, cluster: ClusterObjects): Promise<ReadFault | null> {
  const found = await reader.get("/apis");
  if (!found.ok) return noteUnread(cluster, "API groups", found.error);
  const { groups = [] } = found.value as GroupList;
  for (const [name, [group, resource]] of Object.entries(CUSTOM) as [
    keyof CustomObjects,
    [string, string | null],
  ][]) {
    const version = groups.find((each) => each.name === group)?.preferredVersion?.groupVersion;
    if (version === undefined) continue;
    const resources = resource === null ? await resourcesOf(reader, version) : [resource];
    for (const each of resources) {
      const fault = await readInto(reader, cluster, name, `/apis/${version}/${each}`);
      if (fault !== null) return fault;
    }
  }
  return null;
}

/** Returns the names of an API group's resources, without subresources. */
async function resourcesOf(reader: ClusterReader, groupVersion: string): Promise<string[]> {
  const found = await reader.get(`/apis/${groupVersion}`);
  const { resources = [] } = found.ok ? (found.value as { resources?: { name: string }[] }) : {};
  return resources.map(({ name }) => name).filter((name) => !name.includes("/"));
}

async function readConfigMaps(reader: ClusterReader, cluster: ClusterObjects): Promise<ReadFault | null> {
  for (const { namespace, name } of configMapsOf(cluster)) {
    const path = `/api/v1/namespaces/${namespace}/configmaps/${encodeURIComponent(name)}`;
    const read = await reader.get(path);
    if (read.ok) cluster.configMaps.push(read.value as V1ConfigMap);
    else {
      const fault = noteUnread(cluster, `ConfigMap ${namespace}/${name}`, read.error);
      if (fault !== null) return fault;
    }
  }
  return null;
}
