// Deletes objects whose owners are gone, and gives each namespace the ServiceAccount `default` and a ConfigMap with
// the apiserver's certificate authority. Mirrors garbagecollector's attemptToDeleteItem and classifyReferences,
// serviceaccount.ServiceAccountsController and rootcacertpublisher.Publisher.
import { jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { type ApiObject, fieldsOf } from "../object.ts";
import { apiVersionOf, type ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import { qualifiedResource } from "../status.ts";
import type { Change, ObjectKey } from "../store.ts";
import type { World } from "./world.ts";

function keyText({ resource, namespace, name }: ObjectKey): string {
  return `${resource} ${namespace} ${name}`;
}

/** The dependents of each owner, by the owner's uid. */
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

interface Collector {
  world: World;
  dependents: ReturnType<typeof createDependents>;
}

function check(collector: Collector, key: ObjectKey): void {
  collector.world.tasks.add(`collect ${keyText(key)}`, () => collect(collector, key));
}

/** Returns true if the owner does not exist any more. An owner of a kind that is not served here counts as present. */
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
  const { uid, resourceVersion, ownerReferences = [], deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return;
  const owners = ownerReferences.filter((owner) => !isGone(world, owner, key.namespace));
  if (owners.length === ownerReferences.length) return;
  const path = pathOf(type, key.namespace, key.name);
  if (owners.length > 0) {
    const body = { metadata: { uid, resourceVersion, ownerReferences: owners } };
    await world.send({ method: "PATCH", patch: "merge", path, body });
    return;
  }
  const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
  const { code } = await world.send({ method: "DELETE", path, body });
  // Code 409: another writer changed the object, so the collector checks the object again.
  if (code === 409) check(collector, key);
}

/** Returns true if the owner references have changed. A lease's renewal does not change them. */
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

/** Starts the garbage collector. Returns a function that stops it. */
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

const accountName = "default";
const authorityName = "kube-root-ca.crt";

/** The name of the object that every namespace has, by resource. */
const names = new Map([
  ["serviceaccounts", accountName],
  ["configmaps", authorityName],
]);

async function ensureAccount({ store, send }: World, namespace: string): Promise<void> {
  if (store.get({ resource: "serviceaccounts", namespace, name: accountName })) return;
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await send({ method: "POST", path, body: { metadata: { name: accountName } } });
}

async function ensureAuthority({ store, send, rootCa }: World, namespace: string): Promise<void> {
  const data = { "ca.crt": rootCa };
  const body = { metadata: { name: authorityName }, data };
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const found = store.get({ resource: "configmaps", namespace, name: authorityName });
  if (!found) await send({ method: "POST", path, body });
  else if (!jsonEqual(fieldsOf(found["data"]), data))
    await send({ method: "PUT", path: `${path}/${authorityName}`, body: { ...found, data } });
}

/** Starts the controller that makes the objects of every namespace. Returns a function that stops it. */
export function startNamespaceContents(world: World): () => void {
  const { store, tasks } = world;
  // If the namespace is being deleted, the apiserver refuses both writes.
  const ensure = (namespace: string) =>
    tasks.add(`contents of ${namespace}`, async () => {
      await ensureAccount(world, namespace);
      await ensureAuthority(world, namespace);
    });
  for (const { metadata } of store.list("namespaces")) ensure(metadata.name ?? "");
  return store.subscribe(({ type, resource, object: { metadata } }) => {
    const { name = "", namespace = "" } = metadata;
    if (resource === "namespaces" && type === "ADDED") ensure(name);
    if (names.get(resource) === name && type !== "ADDED") ensure(namespace);
  });
}

type OwnerReference = NonNullable<ObjectMeta["ownerReferences"]>[number];

const storedTypes: readonly ResourceType[] = resourceTypes.filter(({ verbs }) => verbs.includes("delete"));
const typeOfResource = new Map(storedTypes.map((type) => [qualifiedResource(type), type]));

function pathOf(type: ResourceType, namespace: string, name: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const home = type.namespaced ? `/namespaces/${namespace}` : "";
  return `${root}${home}/${type.resource}/${encodeURIComponent(name)}`;
}
