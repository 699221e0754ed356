// An object's metadata on its way into the store: its namespace, its owners, the order of its fields. Pure.
import type { ObjectMeta } from "../../../shared/kubernetes/types.ts";
import { jsonEqual } from "../../../shared/kubernetes/json.ts";
import { metaTypes } from "./kinds/meta-types.ts";
import { compileStruct } from "./kinds/go-type.ts";
import type { Outcome } from "./object.ts";
import { badRequest, otherNamespace } from "./status.ts";
import type { Write } from "./write.ts";

/** rest.EnsureObjectNamespaceMatchesRequestNamespace: the request's namespace, unless the object says another. */
export function placeInNamespace(write: Write, metadata: ObjectMeta): Outcome<ObjectMeta> {
  const { namespace, ...rest } = metadata;
  if (!write.type.namespaced) return { ok: rest };
  if (namespace === write.namespace) return { ok: metadata };
  if (namespace) return { refused: badRequest(otherNamespace) };
  return { ok: { ...rest, namespace: write.namespace } };
}

/** rest.WipeObjectMetaSystemFields: what nobody can say of a new object. */
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

const duplicateOwners =
  ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject " +
  "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";
const duplicateOwnersLater =
  ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner " +
  "references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) " +
  "observed: ";

/** handlers.dedupOwnerReferencesAndAddWarning; for patches, whose owners are looked at later, the words differ. */
export function dedupOwners(
  metadata: ObjectMeta,
  warn?: (text: string) => void,
  isPatch = false,
): ObjectMeta {
  const { ownerReferences } = metadata;
  if (ownerReferences === undefined || ownerReferences.length < 2) return metadata;
  const kept: typeof ownerReferences = [];
  const duplicates: string[] = [];
  for (const reference of ownerReferences) {
    if (kept.some((other) => jsonEqual({ ...other }, { ...reference }))) duplicates.push(reference.uid);
    else kept.push(reference);
  }
  if (duplicates.length === 0) return metadata;
  warn?.((isPatch ? duplicateOwnersLater : duplicateOwners) + duplicates.join(", "));
  return { ...metadata, ownerReferences: kept };
}

const { fields } = compileStruct("v1.ObjectMeta", metaTypes);

/** The same fields in the order in which Go writes them, without those that are empty. */
export function inGoOrder(metadata: {
  [Field in keyof ObjectMeta]: ObjectMeta[Field] | undefined;
}): ObjectMeta {
  const present = fields.map(({ name }): [string, unknown] => [name, Reflect.get(metadata, name)]);
  return Object.fromEntries(present.filter(([, value]) => value !== undefined && value !== ""));
}
