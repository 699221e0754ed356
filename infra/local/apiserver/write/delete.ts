// Deleting one object: preconditions and finalizers. Mirrors registry.Store.Delete; reads no request.
import { failure, success } from "../../../../shared/result.ts";
import type { ObjectMeta, Status } from "../../../../shared/kubernetes/types.ts";
import type { DeleteOptions } from "./delete-options.ts";
import { inGoOrder } from "./metadata.ts";
import type { ApiObject, Outcome } from "../object.ts";
import type { ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";
import * as refuse from "../status.ts";
import { qualifiedResource } from "../status.ts";
import { keyOf, type Surroundings, timeOf } from "./write.ts";

/** Why a precondition does not hold. */
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
  const why =
    `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${actual}). ` +
    `The object might have been ${hint}`;
  return refuse.deleteConflict(type, name, why);
}

/** The metadata with the mark of its deletion, which stays when it is there already (markAsDeleting). */
function marked(metadata: ObjectMeta, now: Date): ObjectMeta {
  if (metadata.deletionTimestamp !== undefined) return metadata;
  return inGoOrder({
    ...metadata,
    deletionTimestamp: timeOf(now),
    deletionGracePeriodSeconds: 0,
  });
}

const immortalNamespaces = new Set(["default", "kube-system", "kube-public"]);

/** Admission plugin NamespaceLifecycle */
function refuseImmortal(type: ResourceType, { name = "" }: ObjectMeta): Status | undefined {
  if (type.kind !== "Namespace" || !immortalNamespaces.has(name)) return undefined;
  return refuse.forbidden(type, name, "this namespace may not be deleted");
}

/** A namespace goes at once, with all that is in it; upstream's would be Terminating first. */
function emptyNamespace(store: Surroundings["store"], namespace: string): void {
  for (const type of resourceTypes.filter(({ namespaced }) => namespaced)) {
    for (const object of store.list(qualifiedResource(type), namespace))
      store.remove(keyOf(type, namespace, object.metadata.name ?? ""), object);
  }
}

/** `object` is the stored one. The answer is what is left of it, or that it is gone. */
export function deleteObject(
  { store, now }: Surroundings,
  type: ResourceType,
  object: ApiObject,
  options: DeleteOptions,
): Outcome<ApiObject | Status> {
  const refused = violated(type, object.metadata, options) ?? refuseImmortal(type, object.metadata);
  if (refused) return failure(refused);
  const { name = "", namespace = "", uid, finalizers = [] } = object.metadata;
  const key = keyOf(type, namespace, name);
  if (finalizers.length > 0) {
    const metadata = marked(object.metadata, now());
    const body = { ...object, metadata };
    return success(options.dryRun || metadata === object.metadata ? body : store.put(key, body));
  }
  if (type.kind === "Namespace" && !options.dryRun) emptyNamespace(store, name);
  const removed = options.dryRun ? object : store.remove(key, object);
  return success(type.returnsDeletedObject ? removed : refuse.deleted(type, name, uid));
}
