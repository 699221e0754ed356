// Changes an object's metadata before the object is stored: its namespace, owners and order of fields.
import { jsonEqual } from "../../../../shared/kubernetes/json.ts";
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";
import { objectMetaType } from "../kinds/go-types.ts";
import { failure, success } from "../../../../shared/result.ts";
import type { Outcome } from "../object.ts";
import { badRequest, otherNamespace } from "../status.ts";
import type { Write } from "./write.ts";

/** Sets the namespace, or fails if the object names another. Mirrors EnsureObjectNamespaceMatchesRequestNamespace. */
export function placeInNamespace(write: Write, metadata: ObjectMeta): Outcome<ObjectMeta> {
  const { namespace, ...rest } = metadata;
  if (!write.type.namespaced) return success(rest);
  if (namespace === write.namespace) return success(metadata);
  if (namespace) return failure(badRequest(otherNamespace));
  return success({ ...rest, namespace: write.namespace });
}

/** Returns metadata without fields that a client cannot set at creation. Mirrors rest.WipeObjectMetaSystemFields. */
export function withoutSystemFields(metadata: ObjectMeta): ObjectMeta {
  const {
    creationTimestamp: _,
    uid: __,
    deletionTimestamp: ___,
    deletionGracePeriodSeconds: ____,
    selfLink: _____,
    ...rest
  } = metadata;
  return rest;
}

/** Returns metadata without duplicate owners, like handlers.dedupOwnerReferencesAndAddWarning without warning. */
export function dedupOwners(metadata: ObjectMeta): ObjectMeta {
  const { ownerReferences = [] } = metadata;
  const kept = ownerReferences.filter(
    (reference, index) =>
      ownerReferences.findIndex((other) => jsonEqual({ ...other }, { ...reference })) === index,
  );
  return kept.length === ownerReferences.length ? metadata : { ...metadata, ownerReferences: kept };
}

/** Returns metadata with its fields in Go's order and without empty ones, because clients compare objects as texts. */
export function inGoOrder(metadata: {
  [Field in keyof ObjectMeta]: ObjectMeta[Field] | undefined;
}): ObjectMeta {
  const present = objectMetaType.fields.map(({ name }): [string, unknown] => [
    name,
    Reflect.get(metadata, name),
  ]);
  return Object.fromEntries(present.filter(([, value]) => value !== undefined && value !== ""));
}
