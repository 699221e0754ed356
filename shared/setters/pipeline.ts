// Lists the setters of the node-status pipeline in the order of their runs. update-node.ts runs them.
import type { Ip } from "../kubernetes/ip.ts";
import type { Quantities } from "../kubernetes/resource-list.ts";
import type { NodeAddress, NodeStatus } from "../kubernetes/types.ts";
import type { MachineInfo } from "../resources/allocatable.ts";
import { contained, type CustomSetter, type CustomSources } from "./custom.ts";
import { daemonEndpoints } from "./daemon-endpoints.ts";
import { diskPressureCondition } from "./disk-pressure.ts";
import { goRuntime } from "./go-runtime.ts";
import { type ContainerImage, images } from "./images.ts";
import { type DevicePluginResources, machineInfo, type RebootEvent } from "./machine-info.ts";
import { memoryPressureCondition } from "./memory-pressure.ts";
import { type LookupIP, nodeAddress, type ResolveAddress, type ValidateNodeIP } from "./node-address.ts";
import { nodeAddressCloud } from "./node-address-cloud.ts";
import { nodeFeatures, type RuntimeFeatures } from "./node-features.ts";
import { pidPressureCondition } from "./pid-pressure.ts";
import { type Errors, readyCondition } from "./ready.ts";
import { recordNodeSchedulableEvent, type SchedulableState } from "./record-node-schedulable-event.ts";
import { recordNodeStatusEvent } from "./record-node-status-event.ts";
import { type RuntimeHandler, runtimeHandlers } from "./runtime-handlers.ts";
import type { Setter } from "./setter.ts";
import { type VersionInfo, versionInfo } from "./version-info.ts";
import { type VolumeLimits, volumeLimits } from "./volume-limits.ts";
import { volumesInUse } from "./volumes-in-use.ts";
import type { Result } from "../result.ts";

/** The input of the setters. The setters call each function at most once in a run. */
export interface StatusSources extends CustomSources {
  nodeName: string;
  hostname: string;
  addresses: {
    nodeIPs: readonly (Ip | null)[];
    validateNodeIP: ValidateNodeIP;
    externalCloudProvider: boolean;
    resolveAddress: ResolveAddress;
    lookupIP: LookupIP;
    /** The addresses from a built-in cloud provider; absent without one. */
    cloud?: { hostnameOverridden: boolean; nodeAddresses: () => Result<readonly NodeAddress[] | null> };
  };
  machine: {
    maxPods: number;
    podsPerCore: number;
    info: () => Result<MachineInfo>;
    capacity: (localStorageCapacityIsolation: boolean) => Quantities;
    devicePluginResources: () => DevicePluginResources;
    allocatableReservation: () => Quantities;
    runningInUserNamespace: () => boolean | undefined;
    localStorageCapacityIsolation: boolean;
  };
  versions: () => Result<VersionInfo>;
  kubeletVersion: string;
  daemonEndpoints: NonNullable<NodeStatus["daemonEndpoints"]>;
  nodeStatusMaxImages: number;
  images: () => Result<readonly ContainerImage[] | null>;
  goos: string;
  goarch: string;
  /** Returns the volume limits, by plugin. Present if the Node has volume limits, as with older kubelets. */
  volumePluginLimits?: () => readonly Result<VolumeLimits>[];
  runtime: {
    type: () => string | null;
    version: () => Result<string>;
    handlers: () => readonly RuntimeHandler[] | null;
    features: () => RuntimeFeatures | null;
  };
  pressure: { memory: () => boolean; disk: () => boolean; pid: () => boolean };
  errors: {
    runtime: () => Errors;
    network: () => Errors;
    storage: () => Errors;
    softRequirements: () => string | null;
    nodeShutdownManager: () => Errors;
  };
  volumes: { synced: () => boolean; inUse: () => readonly string[] | null };
  /** The setters' memory between runs, which the setters update. Upstream's memory is in the kubelet's process. */
  memory: { rebootEvent: RebootEvent; schedulable: SchedulableState };
}

/**
 * Returns the setters of upstream's Kubelet.defaultNodeStatusFuncs, then the custom setters (in the product
 * `customSetters`). As upstream, Ready follows the pressure conditions; setCondition puts custom conditions before
 * it.
 */
export function nodeStatusSetters(sources: StatusSources, custom: readonly CustomSetter[]): Setter[] {
  const { now, machine, runtime, pressure, errors, volumes, memory } = sources;
  const recordStatusEvent = recordNodeStatusEvent(sources.nodeName, sources.recordEvent);
  return [
    addressSetter(sources),
    machineInfo(
      sources.nodeName,
      machine.maxPods,
      machine.podsPerCore,
      machine.info,
      machine.capacity,
      machine.devicePluginResources,
      machine.allocatableReservation,
      sources.recordEvent,
      machine.runningInUserNamespace,
      machine.localStorageCapacityIsolation,
      memory.rebootEvent,
    ),
    versionInfo(sources.versions, runtime.type, runtime.version, sources.kubeletVersion),
    daemonEndpoints(sources.daemonEndpoints),
    images(sources.nodeStatusMaxImages, sources.images),
    goRuntime(sources.goos, sources.goarch),
    ...(sources.volumePluginLimits ? [volumeLimits(sources.volumePluginLimits)] : []),
    runtimeHandlers(runtime.handlers),
    nodeFeatures(runtime.features),
    memoryPressureCondition(now, pressure.memory, recordStatusEvent),
    diskPressureCondition(now, pressure.disk, recordStatusEvent),
    pidPressureCondition(now, pressure.pid, recordStatusEvent),
    readyCondition(
      now,
      errors.runtime,
      errors.network,
      errors.storage,
      errors.softRequirements,
      errors.nodeShutdownManager,
      recordStatusEvent,
      machine.localStorageCapacityIsolation,
    ),
    volumesInUse(volumes.synced, volumes.inUse),
    recordNodeSchedulableEvent(memory.schedulable, recordStatusEvent),
    ...custom.map((setter) => contained(setter, sources)),
  ];
}

function addressSetter({ hostname, addresses }: StatusSources): Setter {
  const { nodeIPs, validateNodeIP, externalCloudProvider, resolveAddress, lookupIP, cloud } = addresses;
  if (!cloud) {
    return nodeAddress(nodeIPs, validateNodeIP, hostname, externalCloudProvider, resolveAddress, lookupIP);
  }
  return nodeAddressCloud(
    nodeIPs[0] ?? null,
    validateNodeIP,
    hostname,
    cloud.hostnameOverridden,
    externalCloudProvider,
    cloud.nodeAddresses,
    resolveAddress,
    lookupIP,
  );
}
