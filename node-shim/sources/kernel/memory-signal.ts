// Reads the eviction signal memory.available. Decides nothing.
import { success } from "../../../shared/result.ts";
import { memory } from "./memory.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

const CGROUPS = "/sys/fs/cgroup";

/**
 * [MemTotal − working set, MemTotal] in bytes: what the kubelet makes of cAdvisor's stats of the root cgroup
 * (setMemoryStats, cadvisorInfoToCPUandMemoryStats). Not MemAvailable of /proc/meminfo.
 */
export function memoryAvailable(root: string): Reading<[available: number, capacity: number]> {
  const total = memory(root);
  if (!total.ok) return total;
  const working = workingSetBytes(root);
  if (!working.ok) return working;
  const { memoryBytes } = total.value;
  return success([Math.max(0, memoryBytes - working.value), memoryBytes]);
}

/** The memory in use, without the inactive page cache. */
function workingSetBytes(root: string): Reading<number> {
  const isUnified = readKernelFile(root, `${CGROUPS}/cgroup.controllers`).ok;
  return isUnified ? workingSetOfV2(root) : workingSetOfV1(root);
}

/** The root has no memory.current in cgroup v2: runc's rootStatsFromMeminfo adds up its parts instead. */
function workingSetOfV2(root: string): Reading<number> {
  const stat = readKernelFile(root, `${CGROUPS}/memory.stat`);
  if (!stat.ok) return stat;
  const anon = field(stat.value, "anon");
  const file = field(stat.value, "file");
  if (anon === undefined || file === undefined)
    return unreadable(`${CGROUPS}/memory.stat has no anon or no file`);
  return success(Math.max(0, anon + file - (field(stat.value, "inactive_file") ?? 0)));
}

function workingSetOfV1(root: string): Reading<number> {
  const usage = readKernelFile(root, `${CGROUPS}/memory/memory.usage_in_bytes`);
  if (!usage.ok) return usage;
  const stat = readKernelFile(root, `${CGROUPS}/memory/memory.stat`);
  if (!stat.ok) return stat;
  if (!/^\d+\n?$/.test(usage.value))
    return unreadable(`${CGROUPS}/memory/memory.usage_in_bytes is not a number`);
  return success(Math.max(0, Number(usage.value) - (field(stat.value, "total_inactive_file") ?? 0)));
}

/** The number after a name in a file of lines `name number`. */
function field(text: string, name: string): number | undefined {
  const start = `\n${text}`.indexOf(`\n${name} `);
  if (start < 0) return undefined;
  const value = Number.parseInt(text.slice(start + name.length + 1), 10);
  return Number.isNaN(value) ? undefined : value;
}
