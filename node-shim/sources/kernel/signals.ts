// Reads the eviction signals memory.available and pid.available, and the kernel's count of OOM kills.
import { memoryBesideHugePages } from "../../../shared/resources/allocatable.ts";
import { success } from "../../../shared/result.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";
import { hugePages, memory } from "./machine.ts";

const CGROUPS = "/sys/fs/cgroup";

/**
 * Returns [memory − working set, memory] in bytes, without huge pages. Like the kubelet, uses cAdvisor's stats of the root
 * cgroup (setMemoryStats, cadvisorInfoToCPUandMemoryStats), and not MemAvailable of /proc/meminfo.
 */
export function memoryAvailable(root: string): Reading<[available: number, capacity: number]> {
  const total = memory(root);
  if (!total.ok) return total;
  const working = workingSetBytes(root);
  if (!working.ok) return working;
  const pages = hugePages(root);
  if (!pages.ok) return pages;
  return success(memoryBesideHugePages(total.value.memoryBytes, working.value, pages.value));
}

/** Returns the bytes of memory in use, without the inactive page cache. */
function workingSetBytes(root: string): Reading<number> {
  const controllers = readKernelFile(root, `${CGROUPS}/cgroup.controllers`);
  if (!controllers.ok) return workingSetOfV1(root);
  return controllers.value.split(/\s/).includes("memory")
    ? workingSetOfV2(root)
    : unreadable(WITHOUT_MEMORY, "missing");
}

const WITHOUT_MEMORY = `${CGROUPS} has no memory controller, so that memory in use is not measured: start the kernel with cgroup_enable=memory`;

/** Returns cgroup v2's working set: the root has no memory.current, so its parts add up (runc rootStatsFromMeminfo). */
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
  if (!usage.ok) return usage.error.reason === "missing" ? unreadable(WITHOUT_MEMORY, "missing") : usage;
  const stat = readKernelFile(root, `${CGROUPS}/memory/memory.stat`);
  if (!stat.ok) return stat;
  if (!/^\d+\n?$/.test(usage.value))
    return unreadable(`${CGROUPS}/memory/memory.usage_in_bytes is not a number`);
  return success(Math.max(0, Number(usage.value) - (field(stat.value, "total_inactive_file") ?? 0)));
}

/** Returns the number after a name in a file of lines `name number`. */
function field(text: string, name: string): number | undefined {
  const start = `\n${text}`.indexOf(`\n${name} `);
  if (start < 0) return undefined;
  const value = Number.parseInt(text.slice(start + name.length + 1), 10);
  return Number.isNaN(value) ? undefined : value;
}

/** Returns [limit − running threads, limit], as kubelet pidlimit.Stats does. An unreadable limit does not count. */
export function pidAvailable(root: string): Reading<[available: number, capacity: number]> {
  const limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"]
    .map((path) => readKernelFile(root, path))
    .flatMap((file) => (file.ok && /^\d+\n?$/.test(file.value) ? [Number(file.value)] : []));
  if (limits.length === 0) return unreadable("neither pid_max nor threads-max could be read");
  const loadavg = readKernelFile(root, "/proc/loadavg");
  if (!loadavg.ok) return loadavg;
  // In /proc/loadavg ("1.36 3.49 4.53 2/3518 3715089"), the fourth part is runnable/all threads.
  const running = /^(?:\S+\s+){3}\d+\/(\d+)\s+\d+/.exec(loadavg.value);
  if (running === null)
    return unreadable(`/proc/loadavg has no number of threads: ${JSON.stringify(loadavg.value)}`);
  const limit = Math.min(...limits);
  return success([Math.max(0, limit - Number(running[1])), limit]);
}

/** Counts OOM kills since boot from a counter: unlike a kubelet, the service may not read the kernel's log. */
export function oomKills(root: string): Reading<number> {
  const stat = readKernelFile(root, "/proc/vmstat");
  if (!stat.ok) return stat;
  const count = /^oom_kill (\d+)$/m.exec(stat.value)?.[1];
  return count === undefined ? unreadable("/proc/vmstat has no oom_kill", "missing") : success(Number(count));
}
