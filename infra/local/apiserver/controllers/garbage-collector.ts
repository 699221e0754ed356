// Deletes what has lost its owner, and finishes foreground and orphaning deletions. The loop around ownership. Mirrors
// garbagecollector.GarbageCollector.
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import type { ApiObject } from "../object.ts";
import type { ResourceType } from "../resource-type.ts";
import { qualifiedResource } from "../status.ts";
import type { Change, ObjectKey } from "../store.ts";
import { judgeOwnership, type OwnerReference, type OwnerState } from "./ownership.ts";
import { pathOf, storedTypes, typeOfResource } from "./stored-types.ts";
import type { World } from "./world.ts";

function typeOfOwner({ apiVersion, kind }: OwnerReference): ResourceType | undefined {
  return storedTypes.find(
    (type) =>
      type.kind === kind &&
      apiVersion === (type.group === "" ? type.version : `${type.group}/${type.version}`),
  );
}

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

function isDeleting(object: ApiObject, finalizer: string): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  return deletionTimestamp !== undefined && finalizers.includes(finalizer);
}

function blocks(dependent: ApiObject, uid: string): boolean {
  const owners = dependent.metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
}

/** What the collector works on. */
interface Collector {
  world: World;
  dependents: ReturnType<typeof createDependents>;
}

function check(collector: Collector, key: ObjectKey): void {
  collector.world.tasks.add(`collect ${keyText(key)}`, () => collect(collector, key));
}

function keyOfOwner(owner: OwnerReference, namespace: string): ObjectKey | undefined {
  const type = typeOfOwner(owner);
  if (!type) return undefined;
  const home = type.namespaced ? namespace : "";
  return { resource: qualifiedResource(type), namespace: home, name: owner.name };
}

function stateOf({ world }: Collector, owner: OwnerReference, namespace: string): OwnerState {
  const key = keyOfOwner(owner, namespace);
  // What is not served here cannot be looked up, and is nobody's loss.
  if (!key) return "solid";
  const found = world.store.get(key);
  if (found?.metadata.uid !== owner.uid) return "dangling";
  return isDeleting(found, "foregroundDeletion") && owner.blockOwnerDeletion === true ? "waiting" : "solid";
}

async function patchMetadata(
  { world }: Collector,
  key: ObjectKey,
  { metadata }: ApiObject,
  change: object,
): Promise<void> {
  const type = typeOfResource.get(key.resource);
  if (!type) return;
  const { uid, resourceVersion } = metadata;
  const body = { metadata: { uid, resourceVersion, ...change } };
  await world.send({ method: "PATCH", patch: "merge", path: pathOf(type, key.namespace, key.name), body });
}

async function disown(
  collector: Collector,
  key: ObjectKey,
  object: ApiObject,
  unowned: string[],
): Promise<void> {
  const owners = object.metadata.ownerReferences ?? [];
  const ownerReferences = owners.filter(({ uid }) => !unowned.includes(uid));
  await patchMetadata(collector, key, object, { ownerReferences });
}

async function dropFinalizer(
  collector: Collector,
  key: ObjectKey,
  object: ApiObject,
  finalizer: string,
): Promise<void> {
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer);
  await patchMetadata(collector, key, object, { finalizers });
}

/** attemptToOrphanWorker */
async function orphan(collector: Collector, key: ObjectKey, owner: ApiObject): Promise<void> {
  const { uid = "" } = owner.metadata;
  for (const dependent of collector.dependents.of(uid)) {
    const object = collector.world.store.get(dependent);
    if (object) await disown(collector, dependent, object, [uid]);
  }
  await dropFinalizer(collector, key, owner, "orphan");
}

/** processDeletingDependentsItem */
async function deleteDependents(collector: Collector, key: ObjectKey, owner: ApiObject): Promise<void> {
  const { uid = "" } = owner.metadata;
  const blocking = collector.dependents.of(uid).filter((dependent) => {
    const object = collector.world.store.get(dependent);
    return object !== undefined && blocks(object, uid);
  });
  if (blocking.length === 0) await dropFinalizer(collector, key, owner, "foregroundDeletion");
  for (const dependent of blocking) check(collector, dependent);
}

async function remove(
  collector: Collector,
  key: ObjectKey,
  { metadata: { uid, resourceVersion } }: ApiObject,
  propagationPolicy: string,
): Promise<void> {
  const type = typeOfResource.get(key.resource);
  if (!type) return;
  const preconditions = { uid, resourceVersion };
  const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy, preconditions };
  const path = pathOf(type, key.namespace, key.name);
  const { code } = await collector.world.send({ method: "DELETE", path, body });
  // Somebody has written it meanwhile: decide again.
  if (code === 409) check(collector, key);
}

async function collect(collector: Collector, key: ObjectKey): Promise<void> {
  const object = collector.world.store.get(key);
  if (!object) return;
  if (isDeleting(object, "orphan")) {
    await orphan(collector, key, object);
    return;
  }
  if (isDeleting(object, "foregroundDeletion")) {
    await deleteDependents(collector, key, object);
    return;
  }
  const hasDependents = collector.dependents.of(object.metadata.uid ?? "").length > 0;
  const decision = judgeOwnership(object.metadata, hasDependents, (owner) =>
    stateOf(collector, owner, key.namespace),
  );
  if (decision.action === "disown") await disown(collector, key, object, decision.unowned);
  if (decision.action === "delete") await remove(collector, key, object, decision.propagationPolicy);
}

function concerns({ metadata }: ApiObject): boolean {
  return metadata.ownerReferences !== undefined || metadata.deletionTimestamp !== undefined;
}

/** Whether anything has changed that counts here: a lease's renewals do not. */
function hasChanged({ metadata }: ApiObject, previous: ApiObject | undefined): boolean {
  const before = previous?.metadata;
  return (
    before === undefined ||
    before.deletionTimestamp !== metadata.deletionTimestamp ||
    JSON.stringify(before.ownerReferences) !== JSON.stringify(metadata.ownerReferences) ||
    JSON.stringify(before.finalizers) !== JSON.stringify(metadata.finalizers)
  );
}

function keyOfObject(resource: string, { metadata: { namespace = "", name = "" } }: ApiObject): ObjectKey {
  return { resource, namespace, name };
}

function followChange(collector: Collector, { type, resource, object, previous }: Change): void {
  const key = keyOfObject(resource, object);
  const { dependents } = collector;
  if (previous?.metadata.ownerReferences) dependents.remove(key, previous.metadata);
  if (type !== "DELETED") {
    dependents.add(key, object.metadata);
    if (concerns(object) && hasChanged(object, previous)) check(collector, key);
    return;
  }
  for (const dependent of dependents.of(object.metadata.uid ?? "")) check(collector, dependent);
  // An owner that waits for it is looked at again.
  for (const owner of object.metadata.ownerReferences ?? []) {
    const ownerKey = keyOfOwner(owner, key.namespace);
    if (ownerKey) check(collector, ownerKey);
  }
}

/** Runs until the result is called. */
export function startGarbageCollector(world: World): () => void {
  const collector: Collector = { world, dependents: createDependents() };
  for (const type of storedTypes) {
    const resource = qualifiedResource(type);
    for (const object of world.store.list(resource).filter(concerns)) {
      const key = keyOfObject(resource, object);
      collector.dependents.add(key, object.metadata);
      check(collector, key);
    }
  }
  return world.store.subscribe((change) => followChange(collector, change));
}
