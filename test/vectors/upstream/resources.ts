// Implements upstream's functions for resources, reservations and taints that only the recordings need.
import { subtractQuantities } from "../../../shared/kubernetes/quantity/arithmetic.ts";
import { signOf, withAmount, zeroQuantity } from "../../../shared/kubernetes/quantity/quantity.ts";
import type { Reservations } from "../../../shared/resources/allocatable.ts";
import type { Quantities } from "../../../shared/kubernetes/resource-list.ts";
import type { Taint } from "../../../shared/kubernetes/types.ts";

/**
 * Returns the allocatable amounts like upstream's GetNodeAllocatableAbsolute: the capacity without the reservations
 * of system and kube, never negative. Pods may use them together; eviction does not lower them.
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

/** Returns the text of --register-with-taints for these taints. */
export function taintsFlag(taints: readonly Taint[]): string {
  return taints.map(({ key, value, effect }) => `${key}=${value ?? ""}:${effect}`).join(",");
}

/** Returns true for the names that upstream's IsAttachableVolumeResourceName accepts. */
export function isAttachableVolumeResourceName(name: string): boolean {
  return name.startsWith("attachable-volumes-");
}
