// Reads how many processes the kernel has ended for want of memory since it started. Decides nothing.
import { success } from "../../../shared/result.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

/** Of the whole machine. The kernel's log, in which a kubelet looks, would say which; the service may not read that. */
export function oomKills(root: string): Reading<number> {
  const stat = readKernelFile(root, "/proc/vmstat");
  if (!stat.ok) return stat;
  const count = /^oom_kill (\d+)$/m.exec(stat.value)?.[1];
  return count === undefined ? unreadable("/proc/vmstat has no oom_kill", "missing") : success(Number(count));
}
