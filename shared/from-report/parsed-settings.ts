// Parses a machine's settings into thresholds and reservations, once for all decisions. The schema has validated them.
import {
  capacityQuantities,
  type MachineInfo,
  nodeAllocatableReservation,
  parseReserved,
  validateNodeAllocatable,
  withReservedCpus,
} from "../resources/allocatable.ts";
import { newQuantity } from "../kubernetes/quantity/quantity.ts";
import { DEFAULT_SETTINGS, type Settings } from "../protocol/settings.ts";
import { effectiveEvictionHard, parseThresholds, type Threshold } from "../resources/eviction.ts";
import type { Quantities } from "../kubernetes/resource-list.ts";
import type { Result } from "../result.ts";

interface ParsedSettings {
  /** Hard and soft thresholds. */
  thresholds: readonly Threshold[];
  /** Kept from pods; its thresholds are the hard ones. */
  reservations: Parameters<typeof nodeAllocatableReservation>[0];
}

/**
 * Parsing takes as long as the rest of a decision, and every report needs the result. The settings object is the key and so
 * must never change. A Durable Object keeps one object from the moment the facts arrive.
 */
const known = new WeakMap<Settings, ParsedSettings>();

/** Throws for settings that the schema would not accept. */
export function parsedSettings(settings: Settings): ParsedSettings {
  const found = known.get(settings);
  if (found) return found;
  const read = readSettings(settings);
  known.set(settings, read);
  return read;
}

function readSettings(settings: Settings): ParsedSettings {
  const { evictionSoft = {}, evictionSoftGracePeriod = {}, evictionMinimumReclaim = {} } = settings;
  const evictionHard = settings.evictionHard ?? effectiveEvictionHard(null, false);
  const texts = withReservedCpus(
    { systemReserved: settings.systemReserved ?? {}, kubeReserved: settings.kubeReserved ?? {} },
    settings.reservedSystemCPUs ?? DEFAULT_SETTINGS.reservedSystemCPUs,
    // The shim checks at its start whether the machine has these CPUs (reservationFault), as the kubelet does.
    Infinity,
  );
  const thresholds = parseThresholds({
    evictionHard,
    evictionSoft,
    evictionSoftGracePeriod,
    evictionMinimumReclaim,
  });
  // The kubelet passes only the hard thresholds to its container manager, without their minimum reclaim.
  const hardEvictionThresholds = accepted(parseThresholds({ evictionHard }));
  const { systemReserved, kubeReserved } = accepted(texts);
  const reservations = {
    systemReserved: accepted(parseReserved(systemReserved)),
    kubeReserved: accepted(parseReserved(kubeReserved)),
    hardEvictionThresholds,
  };
  return { thresholds: accepted(thresholds), reservations };
}

function accepted<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

/** Upstream containerManagerImpl.GetCapacity. Without isolation, ephemeral storage is no resource. */
export function capacityOf(
  machine: MachineInfo | undefined,
  nodefsCapacityBytes: number | undefined,
  localStorageCapacityIsolation: boolean,
): Quantities {
  const capacity: Quantities = machine ? capacityQuantities(machine) : {};
  if (nodefsCapacityBytes !== undefined && localStorageCapacityIsolation) {
    capacity["ephemeral-storage"] = newQuantity(nodefsCapacityBytes, "BinarySI");
  }
  return capacity;
}

/** A kubelet's check before it starts: returns null if the machine has the reserved CPUs and amounts. */
export function reservationFault(
  settings: Settings,
  machine: MachineInfo,
  nodefsCapacityBytes: number | undefined,
  maxPids: number | undefined,
): string | null {
  const { systemReserved = {}, kubeReserved = {}, reservedSystemCPUs = "" } = settings;
  const cpus = withReservedCpus({ systemReserved, kubeReserved }, reservedSystemCPUs, machine.numCores);
  if (!cpus.ok) return cpus.error;
  const { localStorageCapacityIsolation = DEFAULT_SETTINGS.localStorageCapacityIsolation } = settings;
  const capacity = capacityOf(machine, nodefsCapacityBytes, localStorageCapacityIsolation);
  if (maxPids !== undefined) capacity["pid"] = newQuantity(maxPids, "DecimalSI");
  return validateNodeAllocatable(parsedSettings(settings).reservations, capacity);
}
