// Updates an existing object: preconditions, fields that the path may write, validation, storing. Runs without
// awaiting anything, so that it is atomic. Mirrors registry/generic/registry.Store.Update and rest.BeforeUpdate.
import { jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta, Status } from "../../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../../shared/result.ts";
import { invalid } from "../validation/field-errors.ts";
import { isSameButTimes, managedFieldsAfterUpdate } from "../fields/managers.ts";
import { placeInNamespace, inGoOrder } from "./metadata.ts";
import {
  validateCoreMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from "../validation/metadata-rules.ts";
import { type ApiObject, asJson, type Outcome } from "../object.ts";
import * as refuse from "../status.ts";
import { keyOf, type Surroundings, timeOf, type Write, type Written } from "./write.ts";

/** Returns `next` with stored values in fields that the path may not write. Mirrors PrepareForUpdate. */
function keepForeignFields(write: Write, next: ApiObject, current: ApiObject): ApiObject {
  const { kind, apiVersion, metadata } = next;
  const hasStatus = write.type.subresources?.some(({ name }) => name === "status") ?? false;
  if (write.subresource === "status")
    return { ...current, kind, apiVersion, metadata, status: next["status"] };
  return hasStatus ? { ...next, status: current["status"] } : next;
}

/** Returns metadata with the stored values of the fields that only the apiserver writes. */
function keepSystemMetadata(next: ObjectMeta, current: ObjectMeta): ObjectMeta {
  const { uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } = current;
  const { generation: _, selfLink: __, ...rest } = next;
  return {
    ...rest,
    ...(!rest.uid && uid !== undefined && { uid }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(generation !== undefined && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(deletionGracePeriodSeconds !== undefined && {
      deletionGracePeriodSeconds: rest.deletionGracePeriodSeconds ?? deletionGracePeriodSeconds,
    }),
  };
}

/** Returns true for an object in deletion without a finalizer. Mirrors ShouldDeleteDuringUpdate. */
function isFinalised(object: ApiObject): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  return deletionTimestamp !== undefined && finalizers.length === 0;
}

/** Stores the object, unless only times in managedFields have changed. */
function storeUpdate(world: Surroundings, write: Write, next: ApiObject, current: ApiObject): ApiObject {
  const { managedFields, resourceVersion } = current.metadata;
  const metadata = inGoOrder({ ...next.metadata, resourceVersion });
  const written = { ...next, metadata };
  const key = keyOf(write.type, write.namespace, write.name);
  if (current.metadata.deletionTimestamp !== undefined && isFinalised(written)) {
    if (!write.dryRun) world.store.remove(key, written);
    return written;
  }
  if (isSameButTimes(metadata.managedFields, managedFields)) {
    const comparable = { ...next, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
    if (jsonEqual(asJson(comparable), asJson(current))) return current;
  }
  return write.dryRun ? written : world.store.put(key, written);
}

/** Returns the 409 for an outdated resourceVersion, or an error if the type requires one and it is absent. */
function refuseVersion({ type, name }: Write, sent: ObjectMeta, current: ObjectMeta): Status | undefined {
  const { resourceVersion = "" } = sent;
  if (!/^\d*$/.test(resourceVersion))
    return refuse.badRequest(`resourceVersion ${resourceVersion} is no number`);
  if (resourceVersion !== "" && resourceVersion !== "0") {
    if (resourceVersion === current.resourceVersion) return undefined;
    return refuse.conflict(type, name, refuse.objectModified);
  }
  if (!type.requiresResourceVersion) return undefined;
  const error = invalid("metadata.resourceVersion", 0, "must be specified for an update");
  return refuse.invalid(type.group, type.resource, name, [error]);
}

function validate({ type, name }: Write, next: ApiObject, current: ApiObject): Status | undefined {
  const ownErrors = type.validateUpdate?.(next, current) ?? [
    ...(type.validate?.(next) ?? []),
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
  ];
  const errors = [
    ...validateMetadata(next.metadata, type.namespaced),
    ...validateMetadataUpdate(next.metadata, current.metadata),
    ...ownErrors,
  ];
  return errors.length > 0 ? refuse.invalidObject(type, name, errors) : undefined;
}

/** Returns the managedFields after the update. An object from a server-side apply already has them. */
function managedFieldsOf(world: Surroundings, { type, writer }: Write, sent: ApiObject, current: ApiObject) {
  if (writer.operation === "Apply") return sent.metadata.managedFields;
  return managedFieldsAfterUpdate({ type, writer, time: timeOf(world.now()) }, sent, current);
}

/** Updates an object. `sent` is already decoded (see `decode`), without duplicate owner references. */
export function updateObject(
  world: Surroundings,
  write: Write,
  sent: ApiObject,
  current: ApiObject,
): Outcome<Written> {
  const placed = placeInNamespace(write, sent.metadata);
  if (!placed.ok) return placed;
  const placedObject = { ...sent, metadata: placed.value };
  const managedFields = managedFieldsOf(world, write, placedObject, current);
  const badVersion = refuseVersion(write, placed.value, current.metadata);
  if (badVersion) return failure(badVersion);
  const kept = keepForeignFields(write, placedObject, current);
  const metadata = inGoOrder({ ...keepSystemMetadata(kept.metadata, current.metadata), managedFields });
  const next = { ...kept, metadata };
  const refused = validate(write, next, current);
  if (refused) return failure(refused);
  return success({ object: storeUpdate(world, write, next, current), created: false });
}
