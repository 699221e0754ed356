// Computes a machine's capacity, and parses and validates its reservations (the kubelet's container manager).
import { quote } from "../go/strings.ts";
import { addQuantities, subtractQuantities } from "../kubernetes/quantity/arithmetic.ts";
import { wrapInt64 } from "../kubernetes/quantity/integer.ts";
import { parseQuantity } from "../kubernetes/quantity/parse.ts";
import {
  isZero,
  newMilliQuantity,
  newQuantity,
  type Quantity,
  scaledValueOf,
  signOf,
  valueOf,
  withAmount,
  zeroQuantity,
} from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import type { Quantities } from "../kubernetes/resource-list.ts";
import { hugePageResourceName } from "../kubernetes/resource-names.ts";
import { failure, type Result, success } from "../result.ts";
import { type Threshold, thresholdQuantity } from "./eviction.ts";

/** The amounts that a machine's configuration reserves, so that pods cannot use them. */
export interface Reservations {
  systemReserved: Quantities;
  kubeReserved: Quantities;
  /** The hard eviction thresholds. Only those of memory.available and nodefs.available reserve an amount. */
  hardEvictionThresholds: readonly Threshold[];
}

const RESERVABLE: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage", "pid"]);

/**
 * Parses --kube-reserved or --system-reserved (upstream parseResourceList), with CPUs in thousandths as from Kubernetes
 * 1.37 on. Errors are upstream's texts.
 */
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
    reserved[name] = name === "cpu" ? inMilli(parsed.value) : parsed.value;
  }
  return success(reserved);
}

/** Rounds an amount to thousandths, half up. As upstream, the result wraps around where microunits exceed int64. */
function inMilli(amount: Quantity): Quantity {
  return withAmount(amount, wrapInt64(scaledValueOf(amount, -6) + 500n) / 1000n, -3);
}

/** Returns the total reservation of each resource, absent if none (upstream GetNodeAllocatableReservation). */
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

/** Returns the reservations of the hard eviction thresholds (upstream hardEvictionReservation). */
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

/** Returns an error with all reservations that exceed the capacity, or null (upstream validateNodeAllocatable). */
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

/** A machine as cAdvisor describes it. Numbers are unsigned 64-bit integers. */
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
 * Returns cpu, memory, and huge pages by page size (upstream cadvisor.CapacityFromMachineInfo). If a page size is
 * listed twice, the last entry counts. Quantities keep a resource's notation, which their text may not show ("1k"
 * of memory).
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

/**
 * Returns the memory that processes can still get, and the memory that they can get in all. Huge pages are in neither, as
 * from Kubernetes 1.37 on (adjustForHugePages), since processes get them only on request.
 */
export function memoryBesideHugePages(
  memoryBytes: number,
  workingSetBytes: number,
  hugePages: readonly { pageSizeKiB: number; pages: number }[],
): [available: number, capacity: number] {
  const inHugePages = hugePages.reduce((sum, { pageSizeKiB, pages }) => sum + pageSizeKiB * 1024 * pages, 0);
  const capacity = Math.max(0, memoryBytes - inHugePages);
  return [Math.max(0, capacity - workingSetBytes), capacity];
}

/** Returns a quantity of bytes. Larger numbers than int64 wrap around, since Go converts without a check. */
function bytes(count: bigint): Quantity {
  return newQuantity(BigInt.asIntN(64, count), "BinarySI");
}

/** The configured reservations as texts, by resource. */
interface ReservedTexts {
  systemReserved: Record<string, string>;
  kubeReserved: Record<string, string>;
}

/**
 * Returns the reservations with --reserved-cpus, a list such as "0-3,8": the number of listed CPUs replaces both
 * CPU reservations. An empty list changes nothing. Fails for a CPU beyond `numCores`.
 */
export function withReservedCpus(
  reserved: ReservedTexts,
  list: string,
  numCores: number,
): Result<ReservedTexts> {
  const counted = countCpus(list);
  if (!counted.ok) return failure(`unable to parse reserved-cpus list: ${counted.error}`);
  const { count, highest } = counted.value;
  if (count === 0) return success(reserved);
  if (highest >= numCores) {
    const online = numCores === 1 ? "0" : `0-${numCores - 1}`;
    return failure(`reserved-cpus: ${list} is not a subset of online-cpus: ${online}`);
  }
  const { cpu: _cpu, ...kubeReserved } = reserved.kubeReserved;
  return success({ kubeReserved, systemReserved: { ...reserved.systemReserved, cpu: String(count) } });
}

/** Parses a list of CPUs (upstream cpuset.Parse). Ranges may overlap; each CPU counts once. */
function countCpus(list: string): Result<{ count: number; highest: number }> {
  const ranges: [first: number, last: number][] = [];
  for (const range of list === "" ? [] : list.split(",")) {
    const at = range.indexOf("-");
    const bounds = at < 0 ? [range] : [range.slice(0, at), range.slice(at + 1)];
    const numbers = bounds.map((bound) => (/^\+?\d{1,15}$/.test(bound) ? Number(bound) : null));
    const wrong = numbers.indexOf(null);
    if (wrong >= 0) return failure(`strconv.Atoi: parsing ${quote(bounds[wrong] ?? "")}: invalid syntax`);
    const [first = 0, last = first] = numbers.map(Number);
    if (first > last) return failure(`invalid range ${quote(range)} (${first} > ${last})`);
    ranges.push([first, last]);
  }
  let count = 0;
  let highest = -1;
  for (const [first, last] of ranges.sort(([a], [b]) => a - b)) {
    const counted = Math.max(first, highest + 1);
    if (last >= counted) count += last - counted + 1;
    highest = Math.max(highest, last);
  }
  return success({ count, highest });
}
