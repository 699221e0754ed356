// Who owns what: which objects go with their owners. Pure: knows references, asks whether owners live. Mirrors
// garbagecollector's attemptToDeleteItem and classifyReferences.
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";

export type OwnerReference = NonNullable<ObjectMeta["ownerReferences"]>[number];

/** What becomes of an object. `unowned` are the owners that are to be taken off it. */
export type Collection = { action: "keep" } | { action: "disown"; unowned: string[] } | { action: "delete" };

/** The decision for an object; `isGone` looks an owner up. */
export function judgeOwnership(metadata: ObjectMeta, isGone: (owner: OwnerReference) => boolean): Collection {
  const { ownerReferences: owners = [], deletionTimestamp } = metadata;
  const lost = deletionTimestamp === undefined ? owners.filter(isGone) : [];
  if (lost.length === 0) return { action: "keep" };
  return lost.length < owners.length
    ? { action: "disown", unowned: lost.map(({ uid }) => uid) }
    : { action: "delete" };
}
