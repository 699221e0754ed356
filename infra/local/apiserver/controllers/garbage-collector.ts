// Deletes what has lost its owner. The loop around ownership. Mirrors garbagecollector.GarbageCollector, for deletions
// in the background: the server knows no others.
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import type { ApiObject } from "../object.ts";
import { apiVersionOf } from "../resource-type.ts";
import { qualifiedResource } from "../status.ts";
import type { Change } from "../history.ts";
import type { ObjectKey } from "../store.ts";
import { judgeOwnership, type OwnerReference } from "./ownership.ts";
import { pathOf, storedTypes, typeOfResource } from "./stored-types.ts";
import type { World } from "./world.ts";

function keyText({ resource, namespace, name }: ObjectKey): string {
  return `${resource} ${namespace} ${name}`;
}

/** Owner's uid → who depends on it. */
function createDependents() {
  const byOwner = new Map<string, Map<string, ObjectKey>>();
  return {
    of: (uid: string): ObjectKey[] => [...(byOwner.get(uid)?.values() ?? [])],
    add: (key: ObjectKey, { ownerReferences = [] }: ObjectMeta) => {
      for (const { uid } of ownerReferences)
        byOwner.set(uid, (byOwner.get(uid) ?? new Map<string, ObjectKey>()).set(keyText(key), key));
    },
    remove: (key: ObjectKey, { ownerReferences = [] }: ObjectMeta) => {
      for (const { uid } of ownerReferences) {
        const dependents = byOwner.get(uid);
        dependents?.delete(keyText(key));
        if (dependents?.size === 0) byOwner.delete(uid);
      }
    },
  };
}

/** What the collector works on. */
interface Collector {
  world: World;
  dependents: ReturnType<typeof createDependents>;
}

function check(collector: Collector, key: ObjectKey): void {
  collector.world.tasks.add(`collect ${keyText(key)}`, () => collect(collector, key));
}

/** What is not served here cannot be looked up, and is not taken for gone. */
function isGone({ store }: World, owner: OwnerReference, namespace: string): boolean {
  const type = storedTypes.find(
    (each) => each.kind === owner.kind && apiVersionOf(each) === owner.apiVersion,
  );
  if (!type) return false;
  const home = type.namespaced ? namespace : "";
  const found = store.get({ resource: qualifiedResource(type), namespace: home, name: owner.name });
  return found?.metadata.uid !== owner.uid;
}

async function collect(collector: Collector, key: ObjectKey): Promise<void> {
  const { world } = collector;
  const [object, type] = [world.store.get(key), typeOfResource.get(key.resource)];
  if (!object || !type) return;
  const { uid, resourceVersion, ownerReferences = [] } = object.metadata;
  const path = pathOf(type, key.namespace, key.name);
  const decision = judgeOwnership(object.metadata, (owner) => isGone(world, owner, key.namespace));
  if (decision.action === "disown") {
    const owners = ownerReferences.filter((owner) => !decision.unowned.includes(owner.uid));
    const body = { metadata: { uid, resourceVersion, ownerReferences: owners } };
    await world.send({ method: "PATCH", patch: "merge", path, body });
  }
  if (decision.action !== "delete") return;
  const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
  const { code } = await world.send({ method: "DELETE", path, body });
  // It was written meanwhile: decide again.
  if (code === 409) check(collector, key);
}

/** Whether its owners have changed: a lease's renewals do not count. */
function hasChanged({ metadata }: ApiObject, previous: ApiObject | undefined): boolean {
  const before = previous?.metadata.ownerReferences;
  return JSON.stringify(before) !== JSON.stringify(metadata.ownerReferences);
}

function keyOfObject(resource: string, { metadata: { namespace = "", name = "" } }: ApiObject): ObjectKey {
  return { resource, namespace, name };
}

function followChange(collector: Collector, { type, resource, object, previous }: Change): void {
  const key = keyOfObject(resource, object);
  const { dependents } = collector;
  if (previous) dependents.remove(key, previous.metadata);
  if (type === "DELETED") {
    for (const dependent of dependents.of(object.metadata.uid ?? "")) check(collector, dependent);
    return;
  }
  dependents.add(key, object.metadata);
  if (object.metadata.ownerReferences && hasChanged(object, previous)) check(collector, key);
}

/** Runs until the result is called. */
export function startGarbageCollector(world: World): () => void {
  const collector: Collector = { world, dependents: createDependents() };
  for (const resource of storedTypes.map(qualifiedResource)) {
    for (const object of world.store.list(resource).filter(({ metadata }) => metadata.ownerReferences)) {
      const key = keyOfObject(resource, object);
      collector.dependents.add(key, object.metadata);
      check(collector, key);
    }
  }
  return world.store.subscribe((change) => followChange(collector, change));
}
