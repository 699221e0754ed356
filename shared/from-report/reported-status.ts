// Derives the setters' sources from a report and their last run; absent facts count as a failed kubelet callback.
import { sha1 } from "@noble/hashes/legacy.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isIpv4, parseIpSloppy } from "../kubernetes/ip.ts";
import { newQuantity } from "../kubernetes/quantity/quantity.ts";
import type { Quantities } from "../kubernetes/resource-list.ts";
import { canonicalVersion } from "../kubernetes/version.ts";
import { type CloudFacts, cloudLabels } from "../node/initial-node.ts";
import type { Facts } from "../protocol/facts.ts";
import type { Vitals } from "../protocol/report.ts";
import { DEFAULT_SETTINGS } from "../protocol/settings.ts";
import { type MachineInfo, nodeAllocatableReservation } from "../resources/allocatable.ts";
import {
  type EvictionState,
  NO_PRESSURE,
  type PressureCondition,
  synchronizeEviction,
} from "../resources/eviction.ts";
import { failure, type Result, success } from "../result.ts";
import type { ReclaimState } from "../setters/eviction-threshold-event.ts";
import type { ImageFilesystemState } from "../setters/image-filesystem-event.ts";
import type { RebootEvent } from "../setters/machine-info.ts";
import type { ProblemState } from "../setters/problem-events.ts";
import type { ResolveAddress } from "../setters/node-address.ts";
import type { StatusSources } from "../setters/pipeline.ts";
import type { SchedulableState } from "../setters/record-node-schedulable-event.ts";
import type { RecordAnyEvent } from "../setters/setter.ts";
import type { ShutdownState } from "../setters/shutdown-event.ts";
import type { OomState } from "../setters/system-oom-event.ts";
import { validateNodeIP } from "../setters/validate-node-ip.ts";
import type { VolumeLimits } from "../setters/volume-limits.ts";
import { kubeletVersion } from "./kubelet-version.ts";
import { missingRuntime, type RuntimeMemory } from "./missing-runtime.ts";
import { capacityOf, parsedSettings } from "./parsed-settings.ts";

/** The setters' memory between two runs. Plain JSON, since it is stored. */
export interface ReportedMemory {
  rebootEvent: RebootEvent;
  schedulable: SchedulableState;
  eviction: EvictionState;
  imageFilesystem: ImageFilesystemState;
  shutdown: ShutdownState;
  reclaim: ReclaimState;
  oom: OomState;
  problems: ProblemState;
}

export const NOTHING_REMEMBERED: ReportedMemory = {
  rebootEvent: { emitted: false },
  schedulable: { lastNodeUnschedulable: false },
  eviction: NO_PRESSURE,
  imageFilesystem: { hasNoCapacity: false },
  shutdown: { isShuttingDown: false },
  reclaim: { resource: null },
  oom: { kills: null, bootID: "" },
  problems: { start: "", n: 0 },
};

export interface ReportedStatus {
  name: string;
  facts: Facts;
  vitals: Vitals;
  /** The present time by the Worker's clock, in milliseconds since 1970. */
  nowMs: number;
  memory: ReportedMemory;
  /** The stored knowledge about the machine's container runtime; absent if there is none. */
  runtimeMemory?: RuntimeMemory;
  /** The cluster's minor version; absent if it is not known. */
  clusterMinor?: number | undefined;
  recordEvent: RecordAnyEvent;
}

/** Returns the sources for nodeStatusSetters. This function and the setters update `memory`. */
export function reportedSources(reported: ReportedStatus): StatusSources {
  const { name, facts, nowMs, memory, recordEvent, clusterMinor } = reported;
  const { settings, platform, runtime, devices } = facts;
  const { localStorageCapacityIsolation = DEFAULT_SETTINGS.localStorageCapacityIsolation } = settings;
  const pressure = updatePressure(reported);
  const machine = facts.machine && machineInfoOf(facts.machine);
  const capacity = capacityOf(machine, facts.storage?.nodefsCapacityBytes, localStorageCapacityIsolation);
  return {
    nodeName: name,
    hostname: settings.hostname,
    now: timestamp(nowMs),
    recordEvent,
    custom: facts.custom ?? {},
    addresses: addressSources(facts),
    machine: {
      maxPods: settings.maxPods,
      podsPerCore: settings.podsPerCore ?? DEFAULT_SETTINGS.podsPerCore,
      info: () => (machine ? success(machine) : failure("machine info is missing")),
      capacity: () => capacity,
      devicePluginResources: () => ({
        capacity: counts(devices?.capacity),
        allocatable: counts(devices?.allocatable),
        removed: devices?.removed ?? [],
      }),
      allocatableReservation: () =>
        nodeAllocatableReservation(parsedSettings(settings).reservations, capacity),
      runningInUserNamespace: () => facts.runningInUserNamespace,
      localStorageCapacityIsolation,
    },
    versions: () =>
      facts.versions
        ? success({ kernelVersion: facts.versions.kernel, osImage: facts.versions.osImage })
        : failure("versions are missing"),
    kubeletVersion: kubeletVersion(clusterMinor),
    daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    nodeStatusMaxImages: settings.nodeStatusMaxImages ?? DEFAULT_SETTINGS.nodeStatusMaxImages,
    images: () => imagesOf(facts),
    goos: platform.os,
    goarch: platform.architecture,
    runtime: {
      type: () => runtime?.name ?? null,
      version: () => runtimeVersion(runtime),
      handlers: () => facts.runtimeHandlers ?? null,
      features: () => facts.runtimeFeatures ?? null,
    },
    pressure: {
      memory: () => pressure.includes("MemoryPressure"),
      disk: () => pressure.includes("DiskPressure"),
      pid: () => pressure.includes("PIDPressure"),
    },
    errors: errorSources(reported),
    ...volumeSources(facts),
    memory,
  };
}

/** Returns the functions that report errors. An error keeps the Node from being Ready, or adds a warning to it. */
function errorSources({ facts, vitals, runtimeMemory = {} }: ReportedStatus): StatusSources["errors"] {
  return {
    runtime: () => vitals.errors?.runtime ?? missingRuntime(facts, runtimeMemory),
    network: () => vitals.errors?.network ?? null,
    storage: () => vitals.errors?.storage ?? null,
    // The text is from upstream's containerManagerImpl.setupNode.
    softRequirements: () => (facts.cgroups?.cpuHardcapping === false ? "CPU hardcapping unsupported" : null),
    nodeShutdownManager: () => (vitals.shuttingDown ? "node is shutting down" : null),
  };
}

/** Returns the time as metav1.Time: RFC 3339 in whole seconds. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

function updatePressure({ facts, vitals, memory, nowMs }: ReportedStatus): readonly PressureCondition[] {
  const { settings } = facts;
  memory.eviction = synchronizeEviction(
    parsedSettings(settings).thresholds,
    vitals.signals,
    memory.eviction,
    nowMs,
    settings.evictionPressureTransitionPeriodMs ?? DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs,
  );
  return memory.eviction.conditions;
}

function volumeSources({
  settings,
  volumes,
  attachLimits,
}: Facts): Pick<StatusSources, "volumes" | "volumePluginLimits"> {
  return {
    volumes: { synced: () => volumes?.synced ?? false, inUse: () => volumes?.inUse ?? null },
    ...(settings.volumeLimits && { volumePluginLimits: () => csiVolumeLimits(attachLimits) }),
  };
}

/** Returns a machine's facts in the form that a kubelet gets from cAdvisor. */
export function machineInfoOf(machine: NonNullable<Facts["machine"]>): MachineInfo {
  return {
    machineID: machine.machineID,
    systemUUID: machine.systemUUID,
    bootID: machine.bootID,
    numCores: machine.cores,
    memoryCapacityBytes: BigInt(machine.memoryBytes),
    swapCapacityBytes: BigInt(machine.swapBytes),
    hugePages: machine.hugePages.map(({ pageSizeKiB, pages }) => ({
      pageSizeKiB: BigInt(pageSizeKiB),
      numPages: BigInt(pages),
    })),
  };
}

function counts(resources: Record<string, number> = {}): Quantities {
  const entries = Object.entries(resources);
  return Object.fromEntries(entries.map(([name, value]) => [name, newQuantity(value, "DecimalSI")]));
}

/** Returns the machine's images. A machine without a container runtime has no images, and that is no error. */
function imagesOf({ images, runtime }: Facts): ReturnType<StatusSources["images"]> {
  if (images) return success(imagesWithinNode(images));
  return runtime === null ? success(null) : failure("images are missing");
}

function addressSources(facts: Facts): StatusSources["addresses"] {
  const { nodeIPs = [], lookup = [], onInterface = [], defaultRoute = {} } = facts.addresses ?? {};
  const cloud = cloudAddressesOf(facts);
  const own = success(onInterface.flatMap((ip) => parseIpSloppy(ip) ?? []));
  return {
    nodeIPs: nodeIPs.map((ip) => parseIpSloppy(ip)),
    validateNodeIP: (ip) => validateNodeIP(ip, () => own),
    externalCloudProvider: isExternalCloud(facts),
    resolveAddress: resolveAddress(defaultRoute),
    lookupIP: () => ("error" in lookup ? [] : lookup.flatMap((ip) => parseIpSloppy(ip) ?? [])),
    ...(cloud && { cloud }),
  };
}

/** Chooses a default route's address: the node IP's family first, or IPv4. Mirrors upstream's ResolveBindAddress. */
function resolveAddress({
  ipv4,
  ipv6,
}: {
  ipv4?: string | undefined;
  ipv6?: string | undefined;
}): ResolveAddress {
  return (ip) => {
    const chosen = ip !== null && !isIpv4(ip) ? (ipv6 ?? ipv4) : (ipv4 ?? ipv6);
    return chosen === undefined ? failure("no default routes found") : success(parseIpSloppy(chosen));
  };
}

/** Returns the runtime's version in canonical form (upstream kuberuntime's newRuntimeVersion). */
function runtimeVersion(runtime: Facts["runtime"]): Result<string> {
  if (!runtime) return failure("no container runtime");
  const value = canonicalVersion(runtime.version);
  return value === null ? failure(`could not parse "${runtime.version}" as version`) : success(value);
}

/** The most bytes that the images may take in a Node. worker/tick/budgets.ts limits the whole Node. */
export const MAX_IMAGE_BYTES = 40 * 1024;

/** Returns the first images that fit into MAX_IMAGE_BYTES, in the kubelet's order; the same array if all fit. */
function imagesWithinNode(images: NonNullable<Facts["images"]>): NonNullable<Facts["images"]> {
  let bytes = 0;
  // The loop allocates nothing, because it runs for each report.
  for (let index = 0; index < images.length; index++) {
    const { repoDigests, repoTags } = images[index]!;
    // 48 bytes for quotes, commas and size. A name's character counts as one byte, as most names are ASCII.
    bytes += 48;
    for (let name = 0; name < 5; name++) {
      const text = repoDigests[name] ?? repoTags[name - repoDigests.length];
      if (text === undefined) break;
      bytes += text.length + 3;
    }
    if (bytes > MAX_IMAGE_BYTES) return images.slice(0, index);
  }
  return images;
}

const PREFIX = "attachable-volumes-csi-";
/** The longest name of a resource (upstream ResourceNameLengthLimit). */
const NAME_LENGTH = 63;

/** Returns the volume limit of each CSI driver that has one. Kubelets up to 1.16 wrote these limits into the Node. */
function csiVolumeLimits(limits: Facts["attachLimits"]): Result<VolumeLimits>[] {
  return Object.entries(limits ?? {}).flatMap(([driver, limit]) =>
    limit > 0 ? success({ [attachLimitResource(driver)]: limit }) : [],
  );
}

/** Returns the name of the resource that limits a CSI driver's volumes (upstream GetCSIAttachLimitKey). */
export function attachLimitResource(driver: string): string {
  if (PREFIX.length + driver.length < NAME_LENGTH) return PREFIX + driver;
  const hash = bytesToHex(sha1(utf8ToBytes(driver)));
  return PREFIX + driver.slice(0, 23) + hash.slice(0, 16);
}

const NOT_YET = "the cloud's metadata could not be read yet";

/** Returns true if a cloud controller manager, which runs outside of the machine, initializes the Node. */
export function isExternalCloud({ settings }: Facts): boolean {
  return settings.cloudProvider === "external";
}

/** Returns true if the shim reads the cloud's metadata, like the cloud providers that were part of kubelets. */
function hasMetadata({ settings }: Facts): boolean {
  return settings.cloudProvider !== undefined && settings.cloudProvider !== "external";
}

/** Returns the cloud's part of initialNode's options; null for a cloud without metadata. */
export function cloudFactsOf(facts: Facts): CloudFacts | null {
  if (!hasMetadata(facts)) return null;
  const { cloud } = facts;
  if (!cloud)
    return { instances: { providerID: failure(NOT_YET), instanceType: failure(NOT_YET) }, zone: null };
  const { providerID, instanceType, zone = "", region = "" } = cloud;
  return {
    instances: { providerID: success(providerID), instanceType: success(instanceType) },
    zone: success({ failureDomain: zone, region }),
  };
}

/** Returns the labels from the cloud's metadata; null while the metadata are not known. */
export function cloudLabelsOf(facts: Facts): Record<string, string> | null {
  if (!hasMetadata(facts)) return {};
  const { cloud } = facts;
  if (!cloud) return null;
  const { instanceType, zone = "", region = "" } = cloud;
  return cloudLabels({ instanceType, zone, region });
}

/** Returns the cloud's addresses for nodeAddressCloud; undefined if the Node gets the machine's own addresses. */
function cloudAddressesOf(facts: Facts): StatusSources["addresses"]["cloud"] {
  const { cloud, settings } = facts;
  if (!hasMetadata(facts) || (cloud && !cloud.addresses)) return undefined;
  return {
    hostnameOverridden: settings.hostnameOverridden ?? false,
    nodeAddresses: () => (cloud ? success(cloud.addresses ?? []) : failure(NOT_YET)),
  };
}
