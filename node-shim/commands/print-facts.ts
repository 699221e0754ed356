// node-shim facts: what this machine would report of itself, and where each fact was read. Offline.
import type { Facts } from "../../shared/protocol/facts.ts";
import { thisMachine } from "../machine/machine.ts";
import { type MachineFlags } from "../machine/settings.ts";

/** Of facts that come from one place only; the others are noted while they are gathered. */
const SOURCES: Record<string, string> = {
  "/settings/nodeLabels": "--node-labels",
  "/settings/cloudProvider": "--cloud-provider",
  "/settings/hostnameOverridden": "--hostname-override",
  "/settings/volumeLimits": "--volume-limits",
  "/settings/keepTerminatedPodVolumes": "--keep-terminated-pod-volumes",
  "/platform/os": "the operating system that node runs on",
  "/platform/architecture": "the processor that node runs on, in Go's words",
  "/machine/memoryBytes": "/proc/meminfo",
  "/machine/swapBytes": "/proc/meminfo",
  "/machine/hugePages": "/sys/kernel/mm/hugepages",
  "/versions/kernel": "uname",
  "/cgroups/cpuHardcapping": "/proc/mounts and cpu.cfs_* of the CPU controller",
  "/versions/osImage": "default",
  "/runtime": "containerRuntimeEndpoint is empty",
  "/runtime/name": "CRI Version",
  "/runtime/version": "CRI Version",
  "/runtimeHandlers": "CRI Status",
  "/runtimeFeatures/supplementalGroupsPolicy": "CRI Status",
  "/images": "CRI ListImages",
  "/addresses/lookup": "the resolver, asked for the Node's name",
  "/addresses/onInterface": "the network interfaces",
  "/addresses/defaultRoute": "/proc/net/route, /proc/net/ipv6_route and the network interfaces",
  "/storage/nodefsCapacityBytes": "statfs of --root-dir, or of the nearest folder above it",
  "/attachLimits": "NodeGetInfo of the CSI driver, by its socket in --root-dir/plugins_registry",
  "/volumes/synced": "whether all of --root-dir/plugins/kubernetes.io/csi was read",
  "/volumes/inUse": "vol_data.json of each volume in --root-dir/plugins/kubernetes.io/csi",
};

/** With --container-runtime docker. */
const DOCKER_SOURCES = {
  "/runtime": "Docker's info, by systeminformation",
  "/runtime/name": "--container-runtime",
  "/runtime/version": "Docker's info, by systeminformation",
  "/images": "Docker's images, by systeminformation",
};

/** JSON: the facts, with `value` and `source` in place of each. */
export async function printFacts(flags: MachineFlags): Promise<string> {
  const noted = new Map<string, string>();
  const warn = (source: string, message: string) => console.error(`node-shim: ${source}: ${message}`);
  const machine = await thisMachine(flags, warn, (pointer, source) => noted.set(pointer, source));
  await machine.setUp();
  const { facts } = await machine.gather("wait").finally(machine.close);
  const sources = new Map([
    ...Object.entries(SOURCES),
    ["/settings/hostname", flags.hostnameOverride ? "--hostname-override" : "this machine's host name"],
    ...(flags.containerRuntime === "docker" ? Object.entries(DOCKER_SOURCES) : []),
    ["/addresses/nodeIPs", flags.nodeIp ? "--node-ip" : "default"],
    ...Object.entries(machine.sources).flatMap(([field, source]): [string, string][] => [
      [`/settings/${field}`, source],
      [`/settings/${field}Ms`, source],
    ]),
    ...noted,
  ] as [string, string][]);
  return `${JSON.stringify(withSources(facts, sources), null, 2)}\n`;
}

function withSources(facts: Facts, sources: ReadonlyMap<string, string>): Record<string, unknown> {
  const told = (pointer: string, value: unknown, group = pointer) => ({
    value,
    source: sources.get(pointer) ?? sources.get(group),
  });
  const groups = Object.entries(facts).map(([group, fact]) => {
    const isGroup = typeof fact === "object" && fact !== null && !Array.isArray(fact);
    if (!isGroup) return [group, told(`/${group}`, fact)] as const;
    const entries = Object.entries(fact).map(([name, value]) => [
      name,
      told(`/${group}/${name}`, value, `/${group}`),
    ]);
    return [group, Object.fromEntries(entries)] as const;
  });
  return Object.fromEntries(groups);
}
