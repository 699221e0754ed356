// The store with events in both of their groups: kept as those of the core group, read and written as those of
// events.k8s.io too. Other objects pass through.
import { eventsGroup, withCoreNames, withoutCoreNames } from "./kinds/event-versions.ts";
import type { Change } from "./history.ts";
import type { ApiObject } from "./object.ts";
import { findResourceType } from "./resources.ts";
import { qualifiedResource } from "./status.ts";
import type { ObjectKey, Store } from "./store.ts";
import { inFieldOrder } from "./write/write.ts";

const coreType = findResourceType({ group: "", version: "v1", resource: "events" })!;
const groupType = findResourceType({ group: eventsGroup, version: "v1", resource: "events" })!;
const coreResource = qualifiedResource(coreType);
const groupResource = qualifiedResource(groupType);

function toCore(event: ApiObject): ApiObject {
  return inFieldOrder(coreType, withCoreNames(event));
}

function fromCore(event: ApiObject): ApiObject {
  return inFieldOrder(groupType, withoutCoreNames(event));
}

function changeFromCore(change: Change): Change {
  const object = fromCore(change.object);
  const previous = change.previous && { previous: fromCore(change.previous) };
  return { ...change, ...previous, resource: groupResource, object, text: JSON.stringify(object) };
}

export function withEventGroups(store: Store): Store {
  const isOfGroup = (resource: string | undefined) => resource === groupResource;
  const coreKey = (key: ObjectKey) => ({ ...key, resource: coreResource });
  return {
    ...store,
    get: (key) => {
      if (!isOfGroup(key.resource)) return store.get(key);
      const found = store.get(coreKey(key));
      return found && fromCore(found);
    },
    list: (resource, namespace) =>
      isOfGroup(resource)
        ? store.list(coreResource, namespace).map(fromCore)
        : store.list(resource, namespace),
    put: (key, object) =>
      isOfGroup(key.resource) ? fromCore(store.put(coreKey(key), toCore(object))) : store.put(key, object),
    remove: (key, last) =>
      isOfGroup(key.resource) ? fromCore(store.remove(coreKey(key), toCore(last))) : store.remove(key, last),
    changesSince: (resource, revision) => {
      if (!isOfGroup(resource)) return store.changesSince(resource, revision);
      const changes = store.changesSince(coreResource, revision);
      return changes === "gone" ? changes : changes.map(changeFromCore);
    },
    subscribe: (listener, resource) =>
      isOfGroup(resource)
        ? store.subscribe((change) => listener(changeFromCore(change)), coreResource)
        : store.subscribe(listener, resource),
  };
}
