// The eviction signal pid.available. It counts threads, as the kernel's limits do, and not processes.
import { success } from "../../../shared/result.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

/** [limit − running, limit] (kubelet pidlimit.Stats). A limit that cannot be read does not count. */
export function pidAvailable(root: string): Reading<[available: number, capacity: number]> {
  const limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"]
    .map((path) => readKernelFile(root, path))
    .flatMap((file) => (file.ok && /^\d+\n?$/.test(file.value) ? [Number(file.value)] : []));
  if (limits.length === 0) return unreadable("neither pid_max nor threads-max could be read");
  const loadavg = readKernelFile(root, "/proc/loadavg");
  if (!loadavg.ok) return loadavg;
  // 1.36 3.49 4.53 2/3518 3715089: the fourth is runnable/all
  const running = /^(?:\S+\s+){3}\d+\/(\d+)\s+\d+/.exec(loadavg.value);
  if (running === null)
    return unreadable(`/proc/loadavg has no number of threads: ${JSON.stringify(loadavg.value)}`);
  const limit = Math.min(...limits);
  return success([Math.max(0, limit - Number(running[1])), limit]);
}
