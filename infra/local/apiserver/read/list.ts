// Reads one object or a list of them, as they are now. Shows no object.
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { type Answer, type Call, stored } from "../call.ts";
import type { ApiObject, ListItem, Outcome } from "../object.ts";
import type { RequestInfo } from "../request-info.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import { type Asked, readListRequest } from "./select.ts";
import { badRequest, qualifiedResource, revisionTooLarge } from "../status.ts";
import type { Store } from "../store.ts";
import type { Surroundings } from "../write/write.ts";

export interface ObjectList {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string };
  items: ListItem[];
}

/** A resourceVersion is the oldest that the client wants to see; 0 is content with what there is. */
function refuseRevision(store: Store, wanted: number): Status | undefined {
  if (!Number.isSafeInteger(wanted)) return badRequest("resourceVersion has to be a number");
  return wanted > store.revision() ? revisionTooLarge(wanted, store.revision()) : undefined;
}

export function get(world: Surroundings, call: Call): Outcome<Answer> {
  const refused = refuseRevision(world.store, Number(call.query.get("resourceVersion") ?? 0));
  if (refused) return failure(refused);
  const found = stored(world, call);
  return found.ok ? success({ code: 200, body: found.value }) : found;
}

/** Items carry no kind and apiVersion, as the typed lists of the built-in kinds. */
function withoutKind(object: ApiObject): ListItem {
  const { kind: _, apiVersion: __, ...item } = object;
  return item;
}

export function listObjects(
  store: Store,
  type: ResourceType,
  info: RequestInfo,
  { options, matches }: Asked,
): Outcome<ObjectList> {
  const refused = refuseRevision(store, options.resourceVersion);
  if (refused) return failure(refused);
  const namespace = type.namespaced && info.namespace !== "" ? info.namespace : undefined;
  const objects = store.list(qualifiedResource(type), namespace).filter(matches);
  const metadata = { resourceVersion: String(store.revision()) };
  const items = objects.map(withoutKind);
  return success({ kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata, items });
}

export function list(world: Surroundings, { type, info, query }: Call): Outcome<Answer> {
  const asked = readListRequest(type, info, query);
  if (!asked.ok) return asked;
  const listed = listObjects(world.store, type, info, asked.value);
  return listed.ok ? success({ code: 200, body: listed.value }) : listed;
}
