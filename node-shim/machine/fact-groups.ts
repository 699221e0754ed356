// Lists the fact groups with their meaning, sources and readers, for gathering, `node-shim facts` and docs/facts.md.
import type { Facts } from "../../shared/protocol/facts.ts";
import { VERSION } from "../../shared/version.ts";
import { orWarn, type Reading, type Warn } from "../base/reading.ts";
import type { RuntimeReader } from "../sources/cri/monitor.ts";
import { addresses, type AddressSources } from "../sources/kernel/addresses.ts";
import {
  architecture,
  hugePages,
  logicalCores,
  memory,
  runningInUserNamespace,
} from "../sources/kernel/machine.ts";
import { bootID, machineID, osImage, systemUUID } from "../sources/kernel/names.ts";
import type { DiskReader, ServedFilesCheck } from "../sources/kernel/served-files.ts";
import type { FileSystemReader } from "../sources/kernel/storage.ts";

export interface FactsOptions extends Omit<AddressSources, "hostname"> {
  settings: Facts["settings"];
  /** The folder whose file system is nodefs. The folder need not exist. */
  nodefsPath: string;
  kernel: string; // typically os.release()
  os: string; // typically process.platform
  arch: string; // typically process.arch
  /** The cgroups facts, read once, as the kubelet does; absent if unknown. */
  cgroups?: Facts["cgroups"];
  readFileSystem: FileSystemReader;
  /** Checks the files of /proc and /sys that are not the kernel's own; absent if there are none. */
  checkServed?: ServedFilesCheck;
  readDisk: DiskReader;
  containerRuntime: RuntimeReader;
  /** Returns the facts on volumes. Typically a volumeScanner's function. */
  volumes: () => Promise<Facts["volumes"]>;
  attachLimits: () => Promise<Facts["attachLimits"]>;
  /** Returns the features; absent if the machine reports none. */
  features?: () => Promise<Facts["features"]>;
  /** The facts that a kubelet does not have: see extras.ts. */
  extras?: Pick<Facts, "cloud" | "inventory" | "dropIns" | "custom" | "problems">;
  warn: Warn;
  note?: Note;
}

interface FactGroup<Fact> {
  what: string;
  /** Texts for operators: the source of each part of the group by the part's name, or of the whole group by "". */
  sources: Readonly<Record<string, string>>;
  /** The sources that replace `sources` with --container-runtime docker. */
  dockerSources?: Readonly<Record<string, string>>;
  /** Reads the fact; undefined if it is unknown. Never rejects. Absent if `run` adds the group. */
  read?: (options: FactsOptions) => Fact | undefined | Promise<Fact | undefined>;
}

const PROC_MEMINFO = "/proc/meminfo";
const CRI_VERSION = "CRI Version";
const NO_RUNTIME = "configured as none, or none found";
const DOCKER_INFO = "Docker's info, by systeminformation";

/** The fact groups, in the order in which `node-shim facts` prints them. */
export const FACT_GROUPS: { readonly [Name in keyof Facts]-?: FactGroup<NonNullable<Facts[Name]> | null> } = {
  settings: {
    what: "the parts of the machine's configuration that the Worker uses",
    sources: {
      "": "--config, and the flags that are its fields",
      hostname: "--hostname-override, else this machine's host name",
      nodeLabels: "--node-labels",
      inventoryLabels: "--inventory-labels",
      cloudProvider: "--cloud-provider",
      hostnameOverridden: "--hostname-override",
      volumeLimits: "--volume-limits",
      keepTerminatedPodVolumes: "--keep-terminated-pod-volumes",
      registerSchedulable: "--register-schedulable",
      networkUnavailable: "--network-unavailable",
      findRuntime: "neither containerRuntimeEndpoint nor --container-runtime is set",
    },
    read: ({ settings }) => settings,
  },
  platform: {
    what: "the operating system and the processor, with Go's names",
    sources: {
      os: "the operating system that node runs on",
      architecture: "the processor that node runs on, by Go's name",
    },
    read: ({ os, arch }) => ({ os, architecture: architecture(arch) }),
  },
  machine: {
    what: "the machine's IDs and its capacity; the shim reports all of them or none",
    sources: {
      machineID: "/etc/machine-id, else /var/lib/dbus/machine-id",
      systemUUID: "DMI's product_uuid, else the device tree, else /etc/machine-id",
      bootID: "/proc/sys/kernel/random/boot_id",
      cores: "/sys/devices/system/node, else /sys/devices/system/cpu",
      memoryBytes: PROC_MEMINFO,
      swapBytes: PROC_MEMINFO,
      hugePages: "/sys/kernel/mm/hugepages",
    },
    read: (options) => gatherMachine(options, options.warn, options.note),
  },
  versions: {
    what: "the versions of the kernel and the shim, and the operating system's name",
    sources: {
      kernel: "uname",
      osImage: "/etc/os-release, else /usr/lib/os-release; else Unknown",
      shim: "the shim itself",
    },
    read: readVersions,
  },
  runtime: {
    what: "the container runtime's name and version; null on a machine without one",
    sources: { "": NO_RUNTIME, name: CRI_VERSION, version: CRI_VERSION },
    dockerSources: { "": DOCKER_INFO, name: "--container-runtime", version: DOCKER_INFO },
    read: ({ containerRuntime, note }) => {
      const snapshot = containerRuntime();
      if (snapshot?.foundAt !== undefined)
        for (const name of ["name", "version"])
          note?.(`/runtime/${name}`, `${CRI_VERSION}, found at ${snapshot.foundAt}`);
      return snapshot === null ? null : snapshot.runtime;
    },
  },
  images: {
    what: "the container runtime's images, largest first",
    sources: { "": "CRI ListImages" },
    dockerSources: { "": "Docker's images, by systeminformation" },
    read: ({ containerRuntime }) => {
      const snapshot = containerRuntime();
      // Before the runtime's first list of images, the kubelet reports no images.
      return snapshot === null ? undefined : (snapshot.images ?? []);
    },
  },
  runtimeHandlers: {
    what: "the container runtime's handlers, with the features of each",
    sources: { "": "CRI Status" },
    read: ({ containerRuntime }) => containerRuntime()?.handlers,
  },
  runtimeFeatures: {
    what: "features of the container runtime",
    sources: { supplementalGroupsPolicy: "CRI Status" },
    read: ({ containerRuntime }) => containerRuntime()?.features,
  },
  addresses: {
    what: "the addresses from which the Worker chooses the Node's address",
    sources: {
      nodeIPs: "--node-ip",
      lookup: "the resolver, asked for the Node's name",
      onInterface:
        "the network interfaces, also without carrier: /proc/net/fib_trie, /proc/net/if_inet6; ip if one is down",
      defaultRoute: "/proc/net/route, /proc/net/ipv6_route and the network interfaces",
    },
    read: (options) => addresses({ ...options, hostname: options.settings.hostname }, options.warn),
  },
  storage: {
    what: "the size of nodefs",
    sources: { nodefsCapacityBytes: "statfs of --root-dir, or of the nearest folder above it" },
    read: readStorage,
  },
  cgroups: {
    what: "the version of control groups, and whether the kernel can limit the CPU time of a control group",
    sources: {
      cpuHardcapping: "/proc/mounts and cpu.cfs_* of the CPU controller",
      version: "/proc/mounts",
    },
    read: ({ cgroups }) => cgroups,
  },
  runningInUserNamespace: {
    what: "whether the shim runs in a user namespace",
    sources: { "": "/proc/self/uid_map" },
    read: ({ root }) => runningInUserNamespace(root),
  },
  volumes: {
    what: "the CSI volumes that are mounted on the machine",
    sources: {
      synced: "whether all of --root-dir/plugins/kubernetes.io/csi was read",
      inUse: "vol_data.json of each volume in --root-dir/plugins/kubernetes.io/csi",
    },
    read: ({ volumes }) => volumes(),
  },
  attachLimits: {
    what: "the number of volumes that each CSI driver can attach to the machine; 0 means no limit",
    sources: { "": "NodeGetInfo of the CSI driver, by its socket in --root-dir/plugins_registry" },
    read: (options) => options.attachLimits(),
  },
  cloud: {
    what: "the cloud's metadata of the machine: provider ID, instance type, zone, region, addresses",
    sources: { "": "the metadata server of --cloud-provider, or --cloud-metadata-file" },
    read: ({ extras }) => extras?.cloud,
  },
  inventory: {
    what: "the models of the machine's hardware; null if the inventory is turned off",
    sources: { "": "systeminformation, in a process of its own; or --inventory off" },
    read: ({ extras }) => extras?.inventory,
  },
  features: {
    what: "features in node-feature-discovery's names; absent unless --features names some",
    sources: { "": "/proc, /sys and a few files on disk, by --features" },
    read: ({ features }) => features?.(),
  },
  dropIns: {
    what: "resources, labels and conditions of drop-ins, and their failures; null if there are none",
    sources: { "": "--facts-dir" },
    read: ({ extras }) => extras?.dropIns,
  },
  custom: {
    what: "facts of drop-ins for custom setters",
    sources: { "": "--facts-dir" },
    read: ({ extras }) => extras?.custom,
  },
  problems: {
    what: "the newest events of problem detectors, and the problems they hold; absent without detectors",
    sources: { "": "--problem-detectors" },
    read: ({ extras }) => extras?.problems,
  },
  devices: {
    what: "the resources of device plugins. Only `node-shim run --device-plugins` serves them",
    sources: { "": "the device plugins, and devices.json of --state" },
  },
};

async function readVersions({ readDisk, kernel, warn, note }: FactsOptions) {
  const image = noted(await osImage(readDisk), "/versions/osImage", note);
  // cAdvisor's ContainerOsVersion also defaults to "Unknown".
  return { kernel, osImage: orWarn(image, "OS image", warn) ?? "Unknown", shim: VERSION };
}

async function readStorage({ nodefsPath, readFileSystem, warn }: FactsOptions) {
  const fileSystem = await readFileSystem(nodefsPath);
  const nodefs = orWarn(fileSystem.ok ? fileSystem.value.bytes : fileSystem, "nodefs", warn);
  return nodefs && { nodefsCapacityBytes: nodefs[1] };
}

/** Takes the JSON Pointer of a fact with several possible sources, and the source that the fact was read from. */
export type Note = (pointer: string, source: string) => void;

/** Reads the whole group; undefined after a warning: an unreadable file must not result in a capacity of zero. */
export async function gatherMachine(
  { root, readDisk, checkServed }: Pick<FactsOptions, "root" | "readDisk" | "checkServed">,
  warn: Warn,
  note?: Note,
): Promise<Facts["machine"]> {
  const id = noted(await machineID(readDisk), "/machine/machineID", note);
  const uuid = noted(await systemUUID(readDisk), "/machine/systemUUID", note);
  // The next reads block the process, so that nothing is awaited between the check and them.
  const hung = await checkServed?.();
  if (hung) return orWarn(hung, "memory", warn);
  const cores = orWarn(noted(logicalCores(root), "/machine/cores", note), "cores", warn);
  const total = orWarn(memory(root), "memory", warn);
  const pages = orWarn(hugePages(root), "huge pages", warn);
  if (cores === undefined || total === undefined || pages === undefined) return undefined;
  return {
    machineID: orWarn(id, "machine ID", warn) ?? "",
    systemUUID: orWarn(uuid, "system UUID", warn) ?? "",
    bootID: orWarn(noted(bootID(root), "/machine/bootID", note), "boot ID", warn) ?? "",
    cores,
    ...total,
    hugePages: pages,
  };
}

function noted<T>(reading: Reading<T>, pointer: string, note: Note | undefined): Reading<T> {
  if (reading.ok && reading.source !== undefined) note?.(pointer, reading.source);
  return reading;
}
