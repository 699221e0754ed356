// Lists: which objects, as of which revision, and which page of them. Mirrors apiserver's cacher.GetList and etcd3's,
// without waiting for what is not there yet. Shows no object.
import { type Continuation, decodeContinuation, encodeContinuation } from "./continue-token.ts";
import { type ListOptions, resourceVersionError } from "./list-options.ts";
import type { ApiObject, ListItem, Outcome } from "./object.ts";
import type { RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import type { Asked, Selection } from "./select.ts";
import { badRequest, continueExpired, expired, revisionTooLarge } from "./status.ts";
import { loadObjects, loadObjectsAt } from "./storage.ts";
import type { Store } from "./store.ts";

export interface ObjectList {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: ListItem[];
}

/** Where a list starts and what it is of. */
interface Start {
  /** The exact revision; undefined for the latest. */
  revision?: number;
  /** The key behind which it goes on. */
  after?: string;
}

function continued(options: ListOptions): Outcome<Start> {
  const token = decodeContinuation(options.continue);
  if ("error" in token) return { refused: badRequest(`invalid continue token: ${token.error}`) };
  if (options.resourceVersion !== "" && options.resourceVersion !== "0") {
    return { refused: badRequest("specifying resource version is not allowed when using continue") };
  }
  const { revision, after } = token;
  return { ok: { after, ...(revision > 0 && { revision }) } };
}

/** storage.ValidateListOptions: a limit with a resourceVersion means exactly that one, for old times' sake. */
function startOf(store: Store, options: ListOptions): Outcome<Start> {
  if (options.continue !== "") return continued(options);
  const error = resourceVersionError(options.resourceVersion);
  if (error !== undefined) return { refused: badRequest(`invalid resource version: ${error}`) };
  const wanted = Number(options.resourceVersion);
  if (wanted > store.revision()) {
    return { refused: revisionTooLarge(options.resourceVersion, store.revision()) };
  }
  const { resourceVersionMatch: match, limit } = options;
  const isExact = match === "Exact" || (match === "" && limit > 0 && wanted > 0);
  return { ok: isExact ? { revision: wanted } : {} };
}

/** Answers a page whose revision is gone with a token that goes on with the latest. */
function refuseExpired({ after }: Start) {
  const message = "The resourceVersion for the provided list is too old.";
  if (after === undefined) return expired(message);
  return continueExpired(encodeContinuation({ revision: -1, after }));
}

/** An object's key below the prefix of what is listed: a namespace's key is not part of its own objects' keys. */
function keyBelow(type: ResourceType, info: RequestInfo): (object: ApiObject) => string {
  const isBelowNamespace = type.namespaced && info.namespace === "";
  return ({ metadata: { namespace = "", name = "" } }) => (isBelowNamespace ? `${namespace}/${name}` : name);
}

interface Page {
  items: ApiObject[];
  /** The last item, when there are objects behind it. */
  last?: ApiObject;
  /** How many objects there are behind the page, of those that were there to choose from. */
  remaining: number;
}

/** As many matches as the limit allows; 0 for no limit. Whether objects behind it match is not looked at. */
function pageOf(objects: ApiObject[], { matches }: Selection, limit: number): Page {
  if (limit <= 0) return { items: objects.filter(matches), remaining: 0 };
  const items: ApiObject[] = [];
  for (const [index, object] of objects.entries()) {
    if (matches(object)) items.push(object);
    if (items.length < limit) continue;
    const remaining = objects.length - index - 1;
    return { items, remaining, ...(remaining > 0 && { last: object }) };
  }
  return { items, remaining: 0 };
}

/** Items carry no kind and apiVersion, as the typed lists of the built-in kinds. */
function withoutKind(object: ApiObject): ListItem {
  const { kind: _, apiVersion: __, ...item } = object;
  return item;
}

function metadataOf(
  revision: number,
  page: Page,
  { isEmpty }: Selection,
  keyOf: (object: ApiObject) => string,
) {
  const continuation: Continuation | undefined = page.last && { revision, after: keyOf(page.last) };
  return {
    resourceVersion: String(revision),
    ...(continuation && { continue: encodeContinuation(continuation) }),
    ...(continuation && isEmpty && { remainingItemCount: page.remaining }),
  };
}

export function listObjects(
  store: Store,
  type: ResourceType,
  info: RequestInfo,
  { options, selection }: Asked,
): Outcome<ObjectList> {
  const start = startOf(store, options);
  if ("refused" in start) return start;
  const { revision, after } = start.ok;
  const namespace = type.namespaced && info.namespace !== "" ? info.namespace : undefined;
  const isPast = revision !== undefined && revision < store.revision();
  if (revision !== undefined && revision > store.revision()) {
    return { refused: revisionTooLarge(String(revision), store.revision()) };
  }
  const all = isPast ? loadObjectsAt(store, type, revision, namespace) : loadObjects(store, type, namespace);
  if (all === "gone") return { refused: refuseExpired(start.ok) };
  const keyOf = keyBelow(type, info);
  const rest = after === undefined ? all : all.filter((object) => keyOf(object) > after);
  // A list of any revision comes from a cache, which has it whole.
  const page = pageOf(rest, selection, options.resourceVersion === "0" ? 0 : options.limit);
  const metadata = metadataOf(revision ?? store.revision(), page, selection, keyOf);
  const apiVersion = type.group === "" ? type.version : `${type.group}/${type.version}`;
  return { ok: { kind: `${type.kind}List`, apiVersion, metadata, items: page.items.map(withoutKind) } };
}
