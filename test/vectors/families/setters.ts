// Runs the recordings of single setters and of the status comparison.
import { parseIpSloppy, type Ip } from "../../../shared/kubernetes/ip.ts";
import {
  type Quantities,
  resourceListQuantities,
  resourceListText,
} from "../../../shared/kubernetes/resource-list.ts";
import type { Node, ResourceList } from "../../../shared/kubernetes/types.ts";
import type { MachineInfo } from "../../../shared/resources/allocatable.ts";
import { draftOf, nodeStatusHasChanged } from "../../../shared/node/update-node.ts";
import { daemonEndpoints } from "../../../shared/setters/daemon-endpoints.ts";
import { diskPressureCondition } from "../../../shared/setters/disk-pressure.ts";
import { goRuntime } from "../../../shared/setters/go-runtime.ts";
import { images } from "../../../shared/setters/images.ts";
import { machineInfo } from "../../../shared/setters/machine-info.ts";
import { memoryPressureCondition } from "../../../shared/setters/memory-pressure.ts";
import { nodeAddress } from "../../../shared/setters/node-address.ts";
import { nodeAddressCloud } from "../../../shared/setters/node-address-cloud.ts";
import { nodeFeatures } from "../../../shared/setters/node-features.ts";
import { pidPressureCondition } from "../../../shared/setters/pid-pressure.ts";
import { readyCondition } from "../../../shared/setters/ready.ts";
import { recordNodeSchedulableEvent } from "../../../shared/setters/record-node-schedulable-event.ts";
import { recordNodeStatusEvent } from "../../../shared/setters/record-node-status-event.ts";
import { runtimeHandlers } from "../../../shared/setters/runtime-handlers.ts";
import type { RecordEvent, RecordStatusEvent, Setter } from "../../../shared/setters/setter.ts";
import { validateNodeIP } from "../../../shared/setters/validate-node-ip.ts";
import { versionInfo } from "../../../shared/setters/version-info.ts";
import { volumeLimits } from "../../../shared/setters/volume-limits.ts";
import { volumesInUse } from "../../../shared/setters/volumes-in-use.ts";
import type { Family, Json } from "../family.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

interface Outcome {
  node: Node;
  error: string | null;
}

/** Runs one setter on a Node whose quantities may be written in any notation. */
function runSetter(setter: Setter, node: Node): Outcome {
  const status = { ...node.status };
  if (status.capacity) status.capacity = canonical(status.capacity);
  if (status.allocatable) status.allocatable = canonical(status.allocatable);
  return runAsWritten(setter, { ...node, status });
}

/** Runs a setter that reads and writes all quantities of the Node. */
function runAsWritten(setter: Setter, node: Node): Outcome {
  const before = JSON.stringify(node);
  const draft = draftOf(node);
  const error = setter(draft);
  if (JSON.stringify(node) !== before) throw new Error("the setter changed the Node that it was given");
  return { node: draft, error };
}

/** Returns a resource list as the apiserver writes it. */
const canonical = (list: ResourceList): ResourceList => resourceListText(resourceListQuantities(list));

const quantities = (list: ResourceList | null): Quantities => resourceListQuantities(list ?? {});

function reading<T>(value: T, error: string | null | undefined): Result<T> {
  return typeof error === "string" ? failure(error) : success(value);
}

const ip = (text: string | null): Ip | null => (text === null ? null : parseIpSloppy(text));
const ips = (texts: string[]): Ip[] => texts.map((text) => parseIpSloppy(text)!);

function pressureFamily(
  setter: (now: string, underPressure: () => boolean, record: RecordStatusEvent) => Setter,
): Family {
  return {
    run({ now, pressure, node }) {
      const events: Json[] = [];
      const outcome = runSetter(
        setter(
          now,
          () => pressure,
          (type, reason) => events.push({ type, reason }),
        ),
        node,
      );
      return { ...outcome, events };
    },
  };
}

const readMachineInfo = (info: Json): MachineInfo => ({
  machineID: info.machineID,
  systemUUID: info.systemUUID,
  bootID: info.bootID,
  numCores: info.numCores,
  memoryCapacityBytes: BigInt(info.memoryCapacity),
  swapCapacityBytes: BigInt(info.swapCapacity),
  hugePages: info.hugePages.map((size: Json) => ({
    pageSizeKiB: BigInt(size.pageSize),
    numPages: BigInt(size.numPages),
  })),
});

const machineInfoFamily: Family = {
  run(given) {
    const events: Json[] = [];
    const record: RecordEvent = (type, reason, message) => events.push({ type, reason, message });
    let capacityFuncArg: boolean | null = null;
    const setter = machineInfo(
      given.nodeName,
      given.maxPods,
      given.podsPerCore,
      () =>
        given.machineInfo ? success(readMachineInfo(given.machineInfo)) : failure(given.machineInfoError),
      (isolation) => {
        capacityFuncArg = isolation;
        return quantities(given.capacity);
      },
      () => devicePlugins(given),
      () => quantities(given.nodeAllocatableReservation),
      record,
      () => given.runningInUserNamespace ?? undefined,
      given.localStorageCapacityIsolation,
      { emitted: false },
    );
    if (!given.nodes) return { ...runAsWritten(setter, given.node), events, capacityFuncArg };
    const nodes = given.nodes.map((node: Node) => runAsWritten(setter, node));
    return { nodes, events, capacityFuncArg };
  },
};

/** Runs the machine info setter. Each run has a reboot, no storage without isolation, and no swap. */
const legacyMachineInfoFamily: Family = {
  run(given) {
    const events: Json[] = [];
    const setter = machineInfo(
      given.nodeName,
      given.maxPods,
      given.podsPerCore,
      () =>
        given.machineInfo
          ? success({ ...readMachineInfo(given.machineInfo), swapCapacityBytes: 0n })
          : failure(given.machineInfoError),
      (isolation) => quantities(isolation ? given.capacity : null),
      () => devicePlugins(given),
      () => quantities(given.nodeAllocatableReservation),
      (type, reason, message) => events.push({ type, reason, message }),
      () => undefined,
      given.localStorageCapacityIsolation,
      { emitted: false },
    );
    return { ...runAsWritten(setter, given.node), events };
  },
};

const devicePlugins = (given: Json) => ({
  capacity: quantities(given.devicePluginCapacity),
  allocatable: quantities(given.devicePluginAllocatable),
  removed: given.removedDevicePlugins ?? [],
});

const readyFamily: Family = {
  run(given) {
    const events: Json[] = [];
    const setter = readyCondition(
      given.now,
      () => given.runtimeErrors,
      () => given.networkErrors,
      () => given.storageErrors ?? null,
      () => given.softRequirements,
      () => given.nodeShutdownManagerErrors ?? null,
      (type, reason) => events.push({ type, reason }),
      given.localStorageCapacityIsolation,
      "appArmorValidateHost" in given && given.appArmorValidateHost !== "absent"
        ? () => given.appArmorValidateHost?.error ?? null
        : undefined,
    );
    return { ...runSetter(setter, given.node), events };
  },
};

const nodeAddressFamily: Family = {
  run(given) {
    const calls: Json[] = [];
    const setter = nodeAddress(
      given.nodeIPs.map(ip),
      (address) => {
        calls.push({ call: "validate", ip: address });
        return given.validateErrors[address] ?? null;
      },
      given.hostname,
      given.externalCloudProvider,
      (address) => {
        calls.push({ call: "resolve", ip: address });
        return reading(ip(given.resolve.ip), given.resolve.ip === null ? given.resolve.error : null);
      },
      (host) => {
        calls.push({ call: "lookup", host });
        return Array.isArray(given.lookup) ? ips(given.lookup) : [];
      },
    );
    return { ...runSetter(setter, given.node), calls };
  },
};

const nodeAddressCloudFamily: Family = {
  run(given) {
    const setter = nodeAddressCloud(
      ip(given.nodeIP),
      (address) => given.validateErrors[address] ?? null,
      given.hostname,
      given.hostnameOverridden,
      given.externalCloudProvider,
      given.cloud ? () => reading(given.nodeAddresses, given.nodeAddressesError) : null,
      () => reading(ip(given.chooseHostInterface.ip), given.chooseHostInterface.error),
      () => (Array.isArray(given.lookup) ? ips(given.lookup) : []),
    );
    return runSetter(setter, given.node);
  },
};

export const setters: Record<string, Family> = {
  nodeAddress: nodeAddressFamily,
  nodeAddressCloud: nodeAddressCloudFamily,
  validateNodeIP: {
    run: ({ nodeIP, interfaceAddrs, interfaceAddrsError }) => ({
      error: validateNodeIP(ip(nodeIP), () =>
        reading(
          ips((interfaceAddrs ?? []).map((cidr: string) => cidr.replace(/\/.*/, ""))),
          interfaceAddrsError,
        ),
      ),
    }),
  },
  machineInfo: machineInfoFamily,
  legacyMachineInfo: legacyMachineInfoFamily,
  versionInfo: {
    run({
      versionInfo: read,
      versionInfoError,
      runtimeType,
      runtimeVersion,
      runtimeVersionError,
      kubeletVersion,
      node,
    }) {
      const setter = versionInfo(
        () =>
          reading(
            { kernelVersion: read?.kernelVersion, osImage: read?.containerOsVersion },
            versionInfoError,
          ),
        () => runtimeType,
        () => reading(runtimeVersion, runtimeVersionError),
        kubeletVersion,
      );
      return runSetter(setter, node);
    },
  },
  daemonEndpoints: { run: (given) => runSetter(daemonEndpoints(given.daemonEndpoints), given.node) },
  images: {
    run({ nodeStatusMaxImages, images: list, imagesError, node }) {
      const all = list?.map(({ size, ...names }: Json) => ({ ...names, sizeBytes: size })) ?? null;
      return runSetter(
        images(nodeStatusMaxImages, () => reading(all, imagesError)),
        node,
      );
    },
  },
  goRuntime: { run: ({ goos, goarch, node }) => runSetter(goRuntime(goos, goarch), node) },
  runtimeHandlers: {
    run: ({ handlers, node }) =>
      runSetter(
        runtimeHandlers(() => handlers),
        node,
      ),
  },
  nodeFeatures: {
    run: ({ features, node }) =>
      runSetter(
        nodeFeatures(() => features),
        node,
      ),
  },
  memoryPressure: pressureFamily(memoryPressureCondition),
  diskPressure: pressureFamily(diskPressureCondition),
  pidPressure: pressureFamily(pidPressureCondition),
  ready: readyFamily,
  legacyReady: readyFamily,
  volumesInUse: {
    run: ({ synced, volumes, node }) =>
      runSetter(
        volumesInUse(
          () => synced,
          () => volumes,
        ),
        node,
      ),
  },
  volumeLimits: {
    run({ plugins, node }) {
      const limits = plugins.map((plugin: Json) => reading(plugin.limits, plugin.error));
      return runSetter(
        volumeLimits(() => limits),
        node,
      );
    },
  },
  recordNodeSchedulableEvent: {
    run({ nodeName, lastNodeUnschedulable, unschedulable }) {
      const state = { lastNodeUnschedulable };
      const steps = unschedulable.map((value: boolean) => {
        const events: Json[] = [];
        const record = recordNodeStatusEvent(nodeName, (type, reason, message) =>
          events.push({ type, reason, message }),
        );
        recordNodeSchedulableEvent(state, record)(draftOf({ spec: { unschedulable: value } }));
        return { events, ...state };
      });
      return { steps };
    },
  },
  nodeStatusHasChanged: {
    run: ({ original, current }) => ({ changed: nodeStatusHasChanged(original, current) }),
  },
};
