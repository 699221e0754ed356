// Sets capacity, allocatable and the machine's IDs, and records the event of a reboot.
import { subtractQuantities } from "../kubernetes/quantity/arithmetic.ts";
import {
  newQuantity,
  type Quantity,
  signOf,
  withAmount,
  zeroQuantity,
} from "../kubernetes/quantity/quantity.ts";
import { isExtendedResourceName, isHugePageResourceName } from "../kubernetes/resource-names.ts";
import { type Quantities, resourceListQuantities, resourceListText } from "../kubernetes/resource-list.ts";
import type { ResourceList } from "../kubernetes/types.ts";
import { capacityQuantities, type MachineInfo } from "../resources/allocatable.ts";
import { nodeInfoOf, setNodeInfo } from "./node-info.ts";
import type { DraftNode, RecordEvent, Setter } from "./setter.ts";
import type { Result } from "../result.ts";

/** The resources of device plugins. `removed` lists the resources whose plugin is gone. */
export interface DevicePluginResources {
  capacity: Quantities;
  allocatable: Quantities;
  removed: readonly string[];
}

/** true if the reboot was recorded, which happens once in each process. The caller keeps the state between runs. */
export interface RebootEvent {
  emitted: boolean;
}

const NONE = newQuantity(0, "DecimalSI");

/**
 * Returns the setter of capacity, allocatable and IDs (upstream nodestatus.MachineInfo), which updates
 * `rebootEvent`. Resources of other writers stay in the Node. With a new `rebootEvent` for each run, every reboot
 * is recorded, as in older releases.
 */
export function machineInfo(
  nodeName: string,
  maxPods: number,
  podsPerCore: number, // 0 means no limit
  readMachineInfo: () => Result<MachineInfo>, // typically the last facts' machine
  readCapacity: (localStorageCapacityIsolation: boolean) => Quantities, // the setter reads only ephemeral-storage
  devicePluginResources: () => DevicePluginResources, // typically the facts' devices
  nodeAllocatableReservation: () => Quantities, // the reservations of system, kubelet and eviction
  recordEvent: RecordEvent,
  runningInUserNamespace: () => boolean | undefined, // undefined if the machine does not report it
  localStorageCapacityIsolation: boolean,
  rebootEvent: RebootEvent,
): Setter {
  return (node) => {
    let read: Quantities;
    let deviceAllocatable: Quantities = {};
    const info = readMachineInfo();
    if (!info.ok) read = { cpu: NONE, memory: NONE, pods: newQuantity(maxPods, "DecimalSI") };
    else {
      const { numCores } = info.value;
      const pods = podsPerCore > 0 ? Math.min(numCores * podsPerCore, maxPods) : maxPods;
      const storage = readCapacity(localStorageCapacityIsolation)["ephemeral-storage"];
      const devices = devicePluginResources();
      deviceAllocatable = devices.allocatable;
      read = { ...capacityQuantities(info.value), pods: newQuantity(pods, "DecimalSI") };
      if (storage) read["ephemeral-storage"] = storage;
      Object.assign(read, devices.capacity);
      // A removed resource becomes 0. Otherwise it would count as another writer's, and stay.
      for (const resource of devices.removed) read[resource] = NONE;
      recordReboot(node, nodeName, info.value.bootID, recordEvent, rebootEvent);
      setIdentity(node, info.value);
      setUserNamespace(node, runningInUserNamespace());
    }
    const capacity = capacityOf(node, read);
    const allocatable = allocatableOf(capacity, nodeAllocatableReservation(), deviceAllocatable);
    keepAllocatable(allocatable, node.status.allocatable ?? {});
    node.status.capacity = resourceListText(capacity);
    node.status.allocatable = resourceListText(allocatable);
    return null;
  };
}

function recordReboot(
  node: DraftNode,
  nodeName: string,
  bootID: string,
  recordEvent: RecordEvent,
  rebootEvent: RebootEvent,
): void {
  const last = nodeInfoOf(node).bootID;
  if (last === "" || last === bootID || rebootEvent.emitted) return;
  rebootEvent.emitted = true;
  recordEvent("Warning", "Rebooted", `Node ${nodeName} has been rebooted, boot id: ${bootID}`);
}

function setIdentity(
  node: DraftNode,
  { machineID, systemUUID, bootID, swapCapacityBytes }: MachineInfo,
): void {
  setNodeInfo(node, { machineID, systemUUID, bootID });
  if (swapCapacityBytes === 0n) return;
  const capacity = Number(BigInt.asIntN(64, swapCapacityBytes));
  const info = nodeInfoOf(node);
  if (info.swap?.capacity !== capacity) node.status.nodeInfo = { ...info, swap: { capacity } };
}

function setUserNamespace(node: DraftNode, isInside: boolean | undefined): void {
  const info = nodeInfoOf(node);
  if (info.runningInUserNamespace === isInside) return;
  const { runningInUserNamespace: _, ...others } = info;
  node.status.nodeInfo = isInside === undefined ? others : { ...others, runningInUserNamespace: isInside };
}

/** Returns the machine's capacity, with the resources of other writers. */
function capacityOf(node: DraftNode, read: Quantities): Quantities {
  const { capacity = {} } = node.status;
  const others: ResourceList = {};
  for (const resource in capacity) {
    if (!read[resource]) others[resource] = capacity[resource] ?? "0";
  }
  return { ...resourceListQuantities(others), ...read };
}

/** Returns the capacity that remains for pods. */
function allocatableOf(capacity: Quantities, reservation: Quantities, devices: Quantities): Quantities {
  const allocatable: Quantities = {};
  for (const resource in capacity) {
    allocatable[resource] = remainder(capacity[resource], reservation[resource]);
  }
  Object.assign(allocatable, devices);
  for (const resource in capacity) {
    if (isHugePageResourceName(resource)) {
      allocatable.memory = remainder(allocatable.memory, capacity[resource]);
    }
  }
  return allocatable;
}

/** Returns the amount without the taken part, at least 0. */
function remainder(amount: Quantity = zeroQuantity, taken?: Quantity): Quantity {
  const rest = taken ? subtractQuantities(amount, taken) : amount;
  return signOf(rest) < 0 ? withAmount(rest, 0, 0) : rest;
}

/** Keeps allocatable resources that have no capacity, except extended resources. */
function keepAllocatable(allocatable: Quantities, previous: ResourceList): void {
  const kept: ResourceList = {};
  for (const resource in previous) {
    if (!allocatable[resource] && !isExtendedResourceName(resource))
      kept[resource] = previous[resource] ?? "0";
  }
  Object.assign(allocatable, resourceListQuantities(kept));
}
