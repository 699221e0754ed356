// Parses a machine's validated settings into thresholds and reservations, once for all decisions.
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
  /** The hard and soft eviction thresholds. */
  thresholds: readonly Threshold[];
  /** The resources that pods cannot use, with the hard eviction thresholds. */
  reservations: Parameters<typeof nodeAllocatableReservation>[0];
}

/**
 * The parsed settings, by the settings object, which must never change. Parsing takes as long as the rest of a
 * decision, and each report needs the result. A node object keeps one settings object from the arrival of the facts
 * on.
 */
const known = new WeakMap<Settings, ParsedSettings>();

/** Returns the parsed settings. Throws for settings that the schema does not accept. */
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
    // The number of CPUs is not checked here: the shim checks it at its start (reservationFault), as the kubelet does.
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

/** Returns the capacity (upstream GetCapacity), with ephemeral storage only if the kubelet isolates local storage. */
export function capacityOf(
  machine: MachineInfo | undefined,
  nodefsCapacityBytes: number | undefined,
  localStorageCapacityIsolation: boolean,
): Quantities {
  const capacity: Quantities = machine ? capacityQuantities(machine) : {};
  if (nodefsCapacityBytes !== undefined && localStorageCapacityIsolation) {
    capacity["ephemeral-storage"] = newQuantity(nodefsCapacityBytes, "DecimalSI");
  }
  return capacity;
}

/** Checks the reserved CPUs and amounts, as a kubelet does before it starts. Returns an error's text or null. */
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
