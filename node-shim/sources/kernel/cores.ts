// Counts logical CPUs as cAdvisor does: those that are online, even if this process may not run on them.
import { success } from "../../../shared/result.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listKernelFolder, type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

const NODES = "/sys/devices/system/node";
const CPUS = "/sys/devices/system/cpu";

/**
 * Logical cores from the NUMA nodes, or from the CPU folder where the kernel knows no nodes. Only the former
 * leaves out CPUs that are offline (cAdvisor sysinfo.GetNodesInfo, getCPUTopology).
 */
export function logicalCores(root: string): Reading<number> {
  const nodes = numbered(root, NODES, /^node\d+$/);
  const source = nodes.length === 0 ? CPUS : NODES;
  const cores = nodes.length === 0 ? success(numbered(root, CPUS, CPU).length) : coresOfNodes(root, nodes);
  if (!cores.ok) return cores;
  return cores.value > 0 ? { ...cores, source } : unreadable("no CPU is online");
}

const CPU = /^cpu\d+$/;

/** Paths in a folder that match; none where it cannot be read, like Go's filepath.Glob. */
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

/** A CPU without these is not counted (cAdvisor sysinfo.getCoresInfo). */
function hasTopology(root: string, cpu: string): boolean {
  const topology = join(root, cpu, "topology");
  return existsSync(join(topology, "core_id")) && existsSync(join(topology, "physical_package_id"));
}

/** The ranges of `cpu/online`, such as `0-3,5`; null where CPUs cannot be taken offline (cAdvisor IsCPUOnline). */
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
