// Deleting objects: preconditions, finalizers, namespaces. Mirrors registry.Store.Delete, and the namespaces' own; reads
// no request.
import { jsonEqual } from "../../../shared/kubernetes/json.ts";
import type { ObjectMeta, Status } from "../../../shared/kubernetes/types.ts";
import type { DeleteOptions } from "./delete-options.ts";
import { inGoOrder } from "./metadata.ts";
import { type ApiObject, fieldsOf, listOf, type Outcome } from "./object.ts";
import type { ResourceType } from "./resource-type.ts";
import * as refuse from "./status.ts";
import { dropObject, saveObject } from "./storage.ts";
import { keyOf, type Surroundings, timeOf } from "./write.ts";

/** What is left of the object, or that it is gone. */
export interface Deleted {
  body: ApiObject | Status;
  isGone: boolean;
}

/** Why a precondition does not hold; the namespaces' own check has other words. */
function violated(type: ResourceType, metadata: ObjectMeta, options: DeleteOptions): Status | undefined {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const checks = [
    { what: "UID", wanted: options.uid, actual: uid, hint: "deleted and then recreated" },
    {
      what: "ResourceVersion",
      wanted: options.resourceVersion,
      actual: resourceVersion,
      hint: "modified",
    },
  ];
  const failed = checks.find(({ wanted, actual }) => wanted !== undefined && wanted !== actual);
  if (!failed) return undefined;
  const { what, wanted, actual, hint } = failed;
  if (type.kind === "Namespace") {
    const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`;
    return refuse.conflict(type, name, why);
  }
  const why =
    `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${actual}). ` +
    `The object might have been ${hint}`;
  return refuse.deleteConflict(type, name, why);
}

const immortalNamespaces = new Set(["default", "kube-system", "kube-public"]);

/** Admission plugin NamespaceLifecycle */
function refuseImmortal(type: ResourceType, { name = "" }: ObjectMeta): Status | undefined {
  if (type.kind !== "Namespace" || !immortalNamespaces.has(name)) return undefined;
  return refuse.forbidden(type, name, "this namespace may not be deleted");
}

/** Whether a garbage collector must look at dependents first: because of the options, or else of what is there. */
function wantsFinalizer(finalizers: string[], own: string, other: string, explicit: boolean | undefined) {
  return explicit ?? finalizers.find((name) => name === own || name === other) === own;
}

/** deletionFinalizersForGarbageCollection */
function finalizersAfter(type: ResourceType, finalizers: string[], options: DeleteOptions): string[] {
  const { propagationPolicy: policy, orphanDependents: orphans } = options;
  const others = finalizers.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  const isCollected = type.kind !== "Event";
  const decided = policy !== undefined || orphans !== undefined;
  const orphan = decided ? (orphans ?? policy === "Orphan") : undefined;
  const foreground = decided ? policy === "Foreground" : undefined;
  if (isCollected && wantsFinalizer(finalizers, "orphan", "foregroundDeletion", orphan))
    others.push("orphan");
  if (isCollected && wantsFinalizer(finalizers, "foregroundDeletion", "orphan", foreground)) {
    others.push("foregroundDeletion");
  }
  const isSame = others.length === finalizers.length && others.every((name) => finalizers.includes(name));
  return isSame ? finalizers : others;
}

/** The metadata with the mark of its deletion, which stays when it is there already (markAsDeleting). */
function marked(metadata: ObjectMeta, finalizers: string[], now: Date): ObjectMeta {
  const { deletionTimestamp, generation = 0 } = metadata;
  return inGoOrder({
    ...metadata,
    ...(deletionTimestamp === undefined && {
      deletionTimestamp: timeOf(now),
      ...(generation > 0 && { generation: generation + 1 }),
    }),
    deletionGracePeriodSeconds: 0,
    finalizers,
  });
}

/** A namespace's first deletion marks it; whoever empties it finishes that. */
function terminate(
  world: Surroundings,
  type: ResourceType,
  namespace: ApiObject,
  options: DeleteOptions,
): Deleted {
  const finalizers = finalizersAfter(type, namespace.metadata.finalizers ?? [], options);
  const deletionTimestamp = timeOf(world.now());
  const metadata = inGoOrder({
    ...namespace.metadata,
    deletionTimestamp,
    ...(finalizers.length > 0 && { finalizers }),
  });
  const status = { ...fieldsOf(namespace["status"]), phase: "Terminating" };
  const body = { ...namespace, metadata, status };
  const key = keyOf(type, "", metadata.name ?? "");
  return { body: options.dryRun ? body : saveObject(world.store, type, key, body), isGone: false };
}

function isTerminating(namespace: ApiObject): boolean {
  return listOf(fieldsOf(namespace["spec"])["finalizers"]).length > 0;
}

function finish(world: Surroundings, type: ResourceType, object: ApiObject, options: DeleteOptions): Deleted {
  const { name = "", namespace = "", uid, finalizers = [] } = object.metadata;
  const key = keyOf(type, namespace, name);
  const left = finalizersAfter(type, finalizers, options);
  if (left.length > 0) {
    const metadata = marked(object.metadata, left, world.now());
    const body = { ...object, metadata };
    const isMarked = jsonEqual({ ...metadata }, { ...object.metadata });
    return {
      body: options.dryRun || isMarked ? body : saveObject(world.store, type, key, body),
      isGone: false,
    };
  }
  const removed = options.dryRun ? object : dropObject(world.store, type, key, object);
  return { body: type.returnsDeletedObject ? removed : refuse.deleted(type, name, uid), isGone: true };
}

/** `object` is the stored one. */
export function deleteObject(
  world: Surroundings,
  type: ResourceType,
  object: ApiObject,
  options: DeleteOptions,
): Outcome<Deleted> {
  const refused = violated(type, object.metadata, options) ?? refuseImmortal(type, object.metadata);
  if (refused) return { refused };
  if (type.kind !== "Namespace") return { ok: finish(world, type, object, options) };
  if (object.metadata.deletionTimestamp === undefined) return { ok: terminate(world, type, object, options) };
  if (isTerminating(object)) return { ok: { body: object, isGone: false } };
  return { ok: finish(world, type, object, options) };
}
