// Creates one object atomically, without awaiting. Mirrors registry/generic/registry.Store.Create and BeforeCreate.
import type { Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { managedFieldsAfterUpdate } from "../fields/managers.ts";
import { dedupOwners, placeInNamespace, inGoOrder } from "./metadata.ts";
import { validateMetadata } from "../validation/metadata-rules.ts";
import type { ApiObject, Outcome } from "../object.ts";
import * as refuse from "../status.ts";
import type { Store } from "../store.ts";
import { inFieldOrder, keyOf, type Surroundings, timeOf, type Write, type Written } from "./write.ts";

/** Returns an error if a new object's namespace does not exist. Mirrors the plugin NamespaceLifecycle. */
function refuseNamespace(store: Store, { type, namespace }: Write): Status | undefined {
  if (!type.namespaced || store.get({ resource: "namespaces", namespace: "", name: namespace }))
    return undefined;
  return refuse.notFound({ group: "", resource: "namespaces" }, namespace);
}

function validate({ type }: Write, object: ApiObject): Status | undefined {
  const own = type.validate?.(object) ?? [];
  const errors = own.length > 0 ? own : validateMetadata(object.metadata, type.namespaced);
  return errors.length > 0 ? refuse.invalidObject(type, object.metadata.name ?? "", errors) : undefined;
}

/** Returns the 409 for an existing object of this name, which may be in deletion. Mirrors Store.create. */
function refuseTaken({ type }: Write, name: string, existing: ApiObject): Status {
  const taken = refuse.alreadyExists(type, name);
  if (existing.metadata.deletionTimestamp === undefined) return taken;
  return { ...taken, message: `object is being deleted: ${taken.message}` };
}

/** Completes a new object for the store. `placed` already has its namespace. */
function newObject(world: Surroundings, { type, writer }: Write, placed: ApiObject): ApiObject {
  const time = timeOf(world.now());
  const managedFields =
    writer.operation === "Apply"
      ? placed.metadata.managedFields
      : managedFieldsAfterUpdate({ type, writer, time }, placed, undefined);
  const metadata = inGoOrder({
    ...placed.metadata,
    uid: world.uuid(),
    creationTimestamp: time,
    managedFields,
  });
  const filled = { ...placed, metadata };
  return inFieldOrder(type, type.prepareForCreate?.(filled) ?? filled);
}

/** Creates an object. `sent` is already decoded (see `decode`). */
export function createObject(world: Surroundings, write: Write, sent: ApiObject): Outcome<Written> {
  const { type } = write;
  const placed = placeInNamespace(write, sent.metadata);
  if (!placed.ok) return placed;
  const badNamespace = refuseNamespace(world.store, write);
  if (badNamespace) return failure(badNamespace);
  const object = newObject(world, write, { ...sent, metadata: dedupOwners(placed.value) });
  const refused = validate(write, object);
  if (refused) return failure(refused);
  const { name = "", resourceVersion } = object.metadata;
  if (Number(resourceVersion) > 0)
    return failure(refuse.plainError("resourceVersion should not be set on objects to be created"));
  const key = keyOf(type, write.namespace, name);
  const existing = world.store.get(key);
  if (existing) return failure(refuseTaken(write, name, existing));
  if (write.dryRun) return success({ object, created: true });
  const metadata = inGoOrder({ ...object.metadata, resourceVersion: "0" });
  return success({ object: world.store.put(key, { ...object, metadata }), created: true });
}
