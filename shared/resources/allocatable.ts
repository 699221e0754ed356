// Parses, adds up and validates what a node reserves of its capacity (the kubelet's container manager).
import { type Threshold, thresholdQuantity } from "./eviction-thresholds.ts";
import { quote } from "../go/strings.ts";
import { addQuantities, subtractQuantities } from "../kubernetes/quantity/arithmetic.ts";
import { parseQuantity } from "../kubernetes/quantity/parse.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import {
  isZero,
  newQuantity,
  type Quantity,
  signOf,
  valueOf,
  zeroQuantity,
} from "../kubernetes/quantity/quantity.ts";
import type { Quantities } from "../kubernetes/resource-list.ts";
import { failure, type Result, success } from "../result.ts";

/** What a node's configuration keeps from pods. */
export interface Reservations {
  systemReserved: Quantities;
  kubeReserved: Quantities;
  /** Only those of memory.available and nodefs.available count. */
  hardEvictionThresholds: readonly Threshold[];
}

const RESERVABLE: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage", "pid"]);

/** Reads --kube-reserved or --system-reserved (upstream parseResourceList). Errors are upstream's texts. */
export function parseReserved(texts: Record<string, string>): Result<Quantities> {
  const reserved: Quantities = {};
  for (const name of Object.keys(texts).sort()) {
    const text = texts[name] ?? "";
    if (!RESERVABLE.has(name)) return failure(`cannot reserve ${quote(name)} resource`);
    const parsed = parseQuantity(text);
    if (!parsed.ok) {
      return failure(`failed to parse quantity ${quote(text)} for ${quote(name)} resource: ${parsed.error}`);
    }
    if (signOf(parsed.value) < 0) {
      return failure(`resource quantity for ${quote(name)} cannot be negative: ${text}`);
    }
    reserved[name] = parsed.value;
  }
  return success(reserved);
}

/**
 * Upstream GetNodeAllocatableReservation: what is reserved of each resource in `capacity`. Resources without a
 * reservation are absent.
 */
export function nodeAllocatableReservation(reservations: Reservations, capacity: Quantities): Quantities {
  const { systemReserved, kubeReserved, hardEvictionThresholds } = reservations;
  const eviction = hardEvictionReservation(hardEvictionThresholds, capacity);
  const result: Quantities = {};
  for (const name in capacity) {
    let kept = newQuantity(0, "DecimalSI");
    for (const source of [systemReserved, kubeReserved, eviction]) {
      kept = addQuantities(kept, source[name] ?? zeroQuantity);
    }
    if (!isZero(kept)) result[name] = kept;
  }
  return result;
}

/** Upstream hardEvictionReservation. */
function hardEvictionReservation(thresholds: readonly Threshold[], capacity: Quantities): Quantities {
  const kept: Quantities = {};
  for (const { signal, value } of thresholds) {
    if (signal === "memory.available") kept["memory"] = thresholdQuantity(value, whole(capacity["memory"]));
    if (signal === "nodefs.available") {
      kept["ephemeral-storage"] = thresholdQuantity(value, whole(capacity["ephemeral-storage"]));
    }
  }
  return kept;
}

function whole(quantity: Quantity = zeroQuantity): bigint {
  return valueOf(quantity);
}

/** Upstream validateNodeAllocatable: which resources have a reservation above their capacity; null: none. */
export function validateNodeAllocatable(reservations: Reservations, capacity: Quantities): string | null {
  const kept = nodeAllocatableReservation(reservations, capacity);
  const faults = Object.entries(kept).flatMap(([name, amount]) => {
    const available = capacity[name] ?? zeroQuantity;
    if (signOf(subtractQuantities(available, amount)) >= 0) return [];
    return (
      `Resource ${quote(name)} has a reservation of ${quantityText(amount)} but capacity of ` +
      `${quantityText(available)}. Expected capacity >= reservation.`
    );
  });
  return faults.length > 0 ? `invalid Node Allocatable configuration. ${faults.join(" ")}` : null;
}
