// Who owns what: which objects go with their owners. Pure: knows references, asks whether owners live. Mirrors
// garbagecollector's attemptToDeleteItem and classifyReferences.
import type { ObjectMeta } from "../../../../shared/kubernetes/types.ts";

export type OwnerReference = NonNullable<ObjectMeta["ownerReferences"]>[number];

/** How an owner is found. "waiting": it is being deleted in the foreground, its dependents first. */
export type OwnerState = "solid" | "waiting" | "dangling";

/** What becomes of an object. `unowned` are the owners that are to be taken off it. */
export type Collection =
  | { action: "keep" }
  | { action: "disown"; unowned: string[] }
  | { action: "delete"; propagationPolicy: "Foreground" | "Background" | "Orphan" };

function policyOf(finalizers: readonly string[]): "Foreground" | "Background" | "Orphan" {
  if (finalizers.includes("orphan")) return "Orphan";
  return finalizers.includes("foregroundDeletion") ? "Foreground" : "Background";
}

/** The decision for an object; `stateOf` looks an owner up. */
export function judgeOwnership(
  metadata: ObjectMeta,
  hasDependents: boolean,
  stateOf: (owner: OwnerReference) => OwnerState,
): Collection {
  const owners = (metadata.ownerReferences ?? []).map((owner) => ({ owner, state: stateOf(owner) }));
  if (owners.length === 0 || metadata.deletionTimestamp !== undefined) return { action: "keep" };
  const lost = owners.filter(({ state }) => state !== "solid");
  if (lost.length === 0) return { action: "keep" };
  if (lost.length < owners.length) return { action: "disown", unowned: lost.map(({ owner }) => owner.uid) };
  const isWaited = lost.some(({ state }) => state === "waiting");
  const finalizers = metadata.finalizers ?? [];
  return {
    action: "delete",
    propagationPolicy: isWaited && hasDependents ? "Foreground" : policyOf(finalizers),
  };
}
