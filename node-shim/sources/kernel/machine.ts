// Reads the machine's capacity from /proc and /sys, as cAdvisor does: CPUs, huge pages, memory and control groups.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { success } from "../../../shared/result.ts";
import { listKernelFolder, type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

const NODES = "/sys/devices/system/node";
const CPUS = "/sys/devices/system/cpu";

/** Counts logical cores by NUMA nodes, else by the CPU folder, which also lists offline CPUs (sysinfo.GetNodesInfo). */
export function logicalCores(root: string): Reading<number> {
  const nodes = numbered(root, NODES, /^node\d+$/);
  const source = nodes.length === 0 ? CPUS : NODES;
  const cores = nodes.length === 0 ? success(numbered(root, CPUS, CPU).length) : coresOfNodes(root, nodes);
  if (!cores.ok) return cores;
  return cores.value > 0 ? { ...cores, source } : unreadable("no CPU is online");
}

const CPU = /^cpu\d+$/;

/** Returns the paths in a folder whose names match; none if the folder is unreadable, like Go's filepath.Glob. */
function numbered(root: string, folder: string, pattern: RegExp): string[] {
  const names = listKernelFolder(root, folder);
  if (!names.ok) return [];
  return names.value.filter((name) => pattern.test(name)).map((name) => `${folder}/${name}`);
}

function coresOfNodes(root: string, nodes: string[]): Reading<number> {
  const online = onlineCPUs(root);
  if (online !== null && !online.ok) return online;
  let cores = 0;
  for (const cpu of nodes.flatMap((node) => numbered(root, node, CPU))) {
    const id = Number(cpu.slice(cpu.lastIndexOf("/cpu") + 4));
    if (online !== null && !online.value.some(([first, last]) => first <= id && id <= last)) continue;
    if (hasTopology(root, cpu)) cores++;
  }
  return success(cores);
}

/** Returns whether a CPU has topology files. cAdvisor's sysinfo.getCoresInfo does not count a CPU without them. */
function hasTopology(root: string, cpu: string): boolean {
  const topology = join(root, cpu, "topology");
  return existsSync(join(topology, "core_id")) && existsSync(join(topology, "physical_package_id"));
}

/** Reads the ranges of `cpu/online`, such as `0-3,5`; null if CPUs cannot be offline (cAdvisor IsCPUOnline). */
function onlineCPUs(root: string): Reading<[first: number, last: number][]> | null {
  const file = readKernelFile(root, `${CPUS}/online`);
  if (!file.ok) return file.error.reason === "missing" ? null : file;
  const ranges: [number, number][] = [];
  for (const part of file.value.trim().split(",")) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (range === null)
      return unreadable(`${CPUS}/online is not a list of CPUs: ${JSON.stringify(file.value)}`);
    ranges.push([Number(range[1]), Number(range[2] ?? range[1])]);
  }
  return success(ranges);
}

const FOLDER = "/sys/kernel/mm/hugepages";

interface HugePages {
  pageSizeKiB: number;
  pages: number;
}

/** Reads each size's reserved huge pages, in the order of cAdvisor's GetHugePagesInfo; none at all is no error. */
export function hugePages(root: string): Reading<HugePages[]> {
  const sizes = listKernelFolder(root, FOLDER);
  if (!sizes.ok) return success([]);
  const result: HugePages[] = [];
  for (const name of sizes.value) {
    const size = /^hugepages-(\d+)kB$/.exec(name);
    if (size === null) continue;
    const file = readKernelFile(root, `${FOLDER}/${name}/nr_hugepages`);
    if (!file.ok) return file;
    const pages = /^\s*(\d+)/.exec(file.value);
    if (pages === null) return unreadable(`${FOLDER}/${name}/nr_hugepages is not a number`);
    result.push({ pageSizeKiB: Number(size[1]), pages: Number(pages[1]) });
  }
  return success(result);
}

interface Memory {
  memoryBytes: number;
  swapBytes: number;
}

/** Reads MemTotal and SwapTotal, and fails if one is missing (cAdvisor GetMachineMemoryCapacity, …SwapCapacity). */
export function memory(root: string): Reading<Memory> {
  const file = readKernelFile(root, "/proc/meminfo");
  if (!file.ok) return file;
  const total = /MemTotal:\s*(\d+) kB/.exec(file.value);
  const swap = /SwapTotal:\s*(\d+) kB/.exec(file.value);
  if (total === null || swap === null) return unreadable("/proc/meminfo has no MemTotal or no SwapTotal");
  return success({ memoryBytes: Number(total[1]) * 1024, swapBytes: Number(swap[1]) * 1024 });
}

/** Reports whether this process runs in a user namespace (moby/sys/userns RunningInUserNS). */
export function runningInUserNamespace(root: string): boolean {
  const map = readKernelFile(root, "/proc/self/uid_map");
  const ids = map.ok ? /^\s*(\d+)\s+(\d+)\s+(\d+)/.exec(map.value) : null;
  return ids !== null && !(Number(ids[1]) === 0 && Number(ids[2]) === 0 && Number(ids[3]) === 4_294_967_295);
}

/** Go's name (GOARCH) where Node.js's differs. ppc64 is both byte orders in Node.js, but Linux is little-endian. */
const ARCHITECTURES: Record<string, string> = {
  x64: "amd64",
  ia32: "386",
  ppc64: "ppc64le",
  mipsel: "mipsle",
};

/** Returns Go's name of `process.arch`, as in the label kubernetes.io/arch. */
export function architecture(nodeArch: string): string {
  return ARCHITECTURES[nodeArch] ?? nodeArch;
}

/**
 * Reads the version of control groups, and whether the kernel can limit their CPU time, as the kubelet's
 * validateSystemRequirements does. Returns undefined if no cgroup file system with the CPU controller is mounted.
 */
export function cgroups(root: string): Facts["cgroups"] {
  const mounts = readKernelFile(root, "proc/mounts");
  if (!mounts.ok) return undefined;
  for (const line of mounts.value.split("\n")) {
    const [, folder = "", type, options = ""] = line.split(" ");
    // As in upstream, the kernel can always cap the CPU in the unified hierarchy.
    if (type === "cgroup2" && folder === "/sys/fs/cgroup") return { cpuHardcapping: true, version: 2 };
    if (type === "cgroup" && options.split(",").includes("cpu"))
      return { cpuHardcapping: hasQuotaFiles(root, folder), version: 1 };
  }
  return undefined;
}

function hasQuotaFiles(root: string, folder: string): boolean {
  return ["cpu.cfs_period_us", "cpu.cfs_quota_us"].every(
    (file) => readKernelFile(root, `${folder.slice(1)}/${file}`).ok,
  );
}
