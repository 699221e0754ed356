// What upstream does with resources, reservations and taints and the product does not need: the recordings ask for it.
import { subtractQuantities } from "../../../shared/kubernetes/quantity/arithmetic.ts";
import { signOf, withAmount, zeroQuantity } from "../../../shared/kubernetes/quantity/quantity.ts";
import type { Reservations } from "../../../shared/resources/allocatable.ts";
import type { Quantities } from "../../../shared/kubernetes/resource-list.ts";
import type { Taint } from "../../../shared/kubernetes/types.ts";

/**
 * Upstream GetNodeAllocatableAbsolute: capacity without the reservations of system and kube, never negative. The
 * limit of what pods may use together, which eviction does not lower.
 */
export function allocatableWithoutEviction(
  { systemReserved, kubeReserved }: Pick<Reservations, "systemReserved" | "kubeReserved">,
  capacity: Quantities,
): Quantities {
  const result: Quantities = {};
  for (const [name, amount] of Object.entries(capacity)) {
    let left = amount;
    for (const source of [systemReserved, kubeReserved]) {
      left = subtractQuantities(left, source[name] ?? zeroQuantity);
    }
    result[name] = signOf(left) < 0 ? withAmount(left, 0, 0) : left;
  }
  return result;
}

/** The text of --register-with-taints for these taints. */
export function taintsFlag(taints: readonly Taint[]): string {
  return taints.map(({ key, value, effect }) => `${key}=${value ?? ""}:${effect}`).join(",");
}

/** IsAttachableVolumeResourceName. */
export function isAttachableVolumeResourceName(name: string): boolean {
  return name.startsWith("attachable-volumes-");
}
