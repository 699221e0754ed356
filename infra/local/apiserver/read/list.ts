// Reads one object or a list, at the latest revision or at an older one whose later changes are in memory.
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { type Answer, answerWith, type Call, stored } from "../call.ts";
import type { ApiObject, ListItem, Outcome } from "../object.ts";
import type { RequestInfo } from "../request-info.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import { badRequest, expired, qualifiedResource, revisionTooLarge } from "../status.ts";
import type { Store } from "../store.ts";
import type { Surroundings } from "../write/write.ts";
import { encodeContinue, latestRevision, type ListOptions } from "./list-options.ts";
import { type Asked, readListRequest } from "./select.ts";

export interface ObjectList {
  kind: string;
  apiVersion: string;
  /** `continue` is the next page's token. Without a selector, a page has the number of items after it. */
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: ListItem[];
}

/** Returns an error if the store is older than the revision that the client wants. 0 accepts any revision. */
function refuseRevision(store: Store, wanted: number): Status | undefined {
  if (!Number.isSafeInteger(wanted)) return badRequest("resourceVersion has to be a number");
  return wanted > store.revision() ? revisionTooLarge(wanted, store.revision()) : undefined;
}

export function get(world: Surroundings, call: Call): Outcome<Answer> {
  const refused = refuseRevision(world.store, Number(call.query.get("resourceVersion") ?? 0));
  if (refused) return failure(refused);
  return answerWith(200, stored(world, call));
}

/** Returns an object without kind and apiVersion, like the items in upstream's typed lists. */
function withoutKind(object: ApiObject): ListItem {
  const { kind: _, apiVersion: __, ...item } = object;
  return item;
}

const listExpired = "The resourceVersion for the provided list is too old.";
/** The message for a page whose revision has expired. The Status has a token for the latest revision. */
const continueExpired =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
  "without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
  "results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
  "modified, or deleted between the time the first chunk was returned and now may show up in the list.";

function revisionOf(store: Store, { continuation, isExact, resourceVersion }: ListOptions): number {
  if (continuation && continuation.revision !== latestRevision) return continuation.revision;
  return isExact ? resourceVersion : store.revision();
}

function refuseExpired({ continuation }: ListOptions): Status {
  if (!continuation) return expired(listExpired);
  return expired(continueExpired, encodeContinue({ ...continuation, revision: latestRevision }));
}

interface Rest {
  revision: number;
  entries: { key: string; object: ApiObject }[];
}

/** Reads the objects from the page's first key on. Selectors are applied afterwards. */
function readRest(store: Store, type: ResourceType, info: RequestInfo, options: ListOptions): Outcome<Rest> {
  const revision = revisionOf(store, options);
  const refused = refuseRevision(store, Math.max(revision, options.resourceVersion));
  if (refused) return failure(refused);
  const namespace = type.namespaced && info.namespace !== "" ? info.namespace : undefined;
  const objects = listAt(store, qualifiedResource(type), namespace, revision);
  if (objects === "gone") return failure(refuseExpired(options));
  const entries = objects.map((object) => ({ key: listKey(object, namespace), object }));
  const { startKey = "" } = options.continuation ?? {};
  return success({ revision, entries: entries.filter(({ key }) => key >= startKey) });
}

/** Lists objects. A full page has a token if any object follows, matching or not. Mirrors cacher.GetList. */
export function listObjects(
  store: Store,
  type: ResourceType,
  info: RequestInfo,
  { options, matches, isEverything }: Asked,
): Outcome<ObjectList> {
  const rest = readRest(store, type, info, options);
  if (!rest.ok) return rest;
  const { revision, entries } = rest.value;
  const limit = options.limit || Number.POSITIVE_INFINITY;
  const page = entries.filter(({ object }) => matches(object)).slice(0, limit);
  const last = page.length === limit ? page.at(-1) : undefined;
  const isMore = last !== undefined && last !== entries.at(-1);
  const metadata = {
    resourceVersion: String(revision),
    // A NUL at the end makes the next possible key.
    ...(isMore && { continue: encodeContinue({ revision, startKey: `${last.key}\u0000` }) }),
    ...(isMore && isEverything && { remainingItemCount: entries.length - page.length }),
  };
  const items = page.map(({ object }) => withoutKind(object));
  return success({ kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata, items });
}

export function list(world: Surroundings, { type, info, query }: Call): Outcome<Answer> {
  const asked = readListRequest(type, info, query);
  if (!asked.ok) return asked;
  return answerWith(200, listObjects(world.store, type, info, asked.value));
}

/** Returns the key that lists are ordered by: "namespace/name", or the name alone for a list of one namespace. */
function listKey({ metadata: { namespace = "", name = "" } }: ApiObject, home?: string): string {
  return namespace === "" || home !== undefined ? name : `${namespace}/${name}`;
}

/** Returns the objects at a revision, ordered by key, or "gone" if later changes are no longer in memory. */
function listAt(
  store: Pick<Store, "list" | "changesSince">,
  resource: string,
  namespace: string | undefined,
  revision: number,
): ApiObject[] | "gone" {
  const changes = store.changesSince(resource, revision);
  if (changes === "gone") return "gone";
  const later = changes.filter(
    ({ object }) => namespace === undefined || object.metadata.namespace === namespace,
  );
  const objects = store.list(resource, namespace);
  if (later.length === 0) return objects;
  const byKey = new Map(objects.map((object) => [listKey(object, namespace), object]));
  for (const { object, previous } of later.reverse()) {
    if (previous) byKey.set(listKey(previous, namespace), previous);
    else byKey.delete(listKey(object, namespace));
  }
  return [...byKey].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, object]) => object);
}
