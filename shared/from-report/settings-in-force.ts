// Parses a machine's settings into thresholds and reservations, once for all decisions. It does not repeat what the
// schema validates.
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

interface SettingsInForce {
  /** Hard and soft ones. */
  thresholds: readonly Threshold[];
  /** What is kept from pods; its thresholds are the hard ones. */
  reservations: Parameters<typeof nodeAllocatableReservation>[0];
}

/**
 * Parsing the texts takes as long as the rest of a decision, and every report needs them: the result is kept by the
 * settings object, which must therefore never change. A Durable Object keeps one from the moment the facts arrive.
 */
const known = new WeakMap<Settings, SettingsInForce>();

/** Throws for settings that the schema does not accept. */
export function settingsInForce(settings: Settings): SettingsInForce {
  const found = known.get(settings);
  if (found) return found;
  const read = readSettings(settings);
  known.set(settings, read);
  return read;
}

function readSettings(settings: Settings): SettingsInForce {
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
  // The kubelet gives its container manager the hard thresholds alone, without their minimum reclaim.
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

/** What a kubelet checks before it starts: has the machine the CPUs and the amounts that are reserved? null: it has. */
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
  return validateNodeAllocatable(settingsInForce(settings).reservations, capacity);
}
