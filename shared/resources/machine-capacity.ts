// Computes a Node's capacity from a machine's hardware facts. Reads no machine: the facts are an argument.
import { newMilliQuantity, newQuantity, type Quantity } from "../kubernetes/quantity/quantity.ts";
import { hugePageResourceName } from "../kubernetes/resource-names.ts";
import type { Quantities } from "../kubernetes/resource-list.ts";

/** A machine as cAdvisor describes it. The numbers are unsigned 64-bit ones. */
export interface MachineInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  numCores: number;
  memoryCapacityBytes: bigint;
  swapCapacityBytes: bigint;
  hugePages: { pageSizeKiB: bigint; numPages: bigint }[];
}

type Hardware = Pick<MachineInfo, "numCores" | "memoryCapacityBytes" | "hugePages">;

/**
 * Upstream cadvisor.CapacityFromMachineInfo: cpu, memory, and huge pages by page size; where a size is given twice, the
 * last one counts. Returns quantities, since a text does not always show the notation of the resource ("1k" of memory).
 */
export function capacityQuantities({ numCores, memoryCapacityBytes, hugePages }: Hardware): Quantities {
  const capacity: Quantities = {
    cpu: newMilliQuantity(numCores * 1000, "DecimalSI"),
    memory: bytes(memoryCapacityBytes),
  };
  for (const { pageSizeKiB, numPages } of hugePages) {
    const pageSizeBytes = pageSizeKiB * 1024n;
    capacity[hugePageResourceName(bytes(pageSizeBytes))] = bytes(pageSizeBytes * numPages);
  }
  return capacity;
}

/** Go converts to int64 without a check, so numbers above it wrap. */
function bytes(count: bigint): Quantity {
  return newQuantity(BigInt.asIntN(64, count), "BinarySI");
}
