// Objects of a type in the store: where they are, and in which version. Events are stored in one version and served in
// two (core/v1 and events.k8s.io/v1). Decides nothing about objects.
import type { ApiObject } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";
import { qualifiedResource } from "./status.ts";
import type { Change } from "./history.ts";
import type { ObjectKey, Store } from "./store.ts";

/** The resource under which objects of the type are stored. */
export function storedResource(type: ResourceType): string {
  return type.stored?.resource ?? qualifiedResource(type);
}

/** A stored object in the type's own version. */
export function fromStored(type: ResourceType, object: ApiObject): ApiObject {
  return type.stored?.fromStored(object) ?? object;
}

export function loadObject(store: Store, type: ResourceType, key: ObjectKey): ApiObject | undefined {
  const object = store.get(key);
  return object && fromStored(type, object);
}

/** The objects of one namespace, or of all. */
export function loadObjects(store: Store, type: ResourceType, namespace?: string): ApiObject[] {
  const objects = store.list(storedResource(type), namespace);
  return type.stored ? objects.map(type.stored.fromStored) : objects;
}

/** Metadata in the order in which Go writes it; the store fills in the resourceVersion. */
function ordered(object: ApiObject): ApiObject {
  const { name, generateName, namespace, uid, generation, creationTimestamp, ...rest } = object.metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds, labels, annotations, ownerReferences } = rest;
  return {
    ...object,
    metadata: {
      ...(name !== undefined && { name }),
      ...(generateName !== undefined && { generateName }),
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      resourceVersion: "",
      ...(generation !== undefined && { generation }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...rest,
    },
  };
}

/** The same at a revision; "gone" when that is no longer known. */
export function loadObjectsAt(
  store: Store,
  type: ResourceType,
  revision: number,
  namespace?: string,
): ApiObject[] | "gone" {
  const objects = store.listAt(storedResource(type), revision, namespace);
  return objects !== "gone" && type.stored ? objects.map(type.stored.fromStored) : objects;
}

/** Store.put */
export function saveObject(store: Store, type: ResourceType, key: ObjectKey, object: ApiObject): ApiObject {
  if (!type.stored) return store.put(key, ordered(object));
  const { metadata } = store.put(key, ordered(type.stored.toStored(object)));
  return { ...object, metadata };
}

/** Store.remove */
export function dropObject(store: Store, type: ResourceType, key: ObjectKey, last: ApiObject): ApiObject {
  if (!type.stored) return store.remove(key, last);
  const { metadata } = store.remove(key, type.stored.toStored(last));
  return { ...last, metadata };
}

/** A change with its objects in the type's own version. */
export function changeFromStored(type: ResourceType, change: Change): Change {
  if (!type.stored) return change;
  const { object, previous } = change;
  return {
    ...change,
    object: fromStored(type, object),
    ...(previous && { previous: fromStored(type, previous) }),
  };
}
