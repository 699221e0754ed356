// Reads which version of control groups the kernel runs, and whether it can cap the CPU of a group of processes (CFS
// quota), as the kubelet's validateSystemRequirements does. Decides nothing.
import type { Facts } from "../../../shared/protocol/facts.ts";
import { readKernelFile } from "../../base/reading.ts";

/** undefined: not known, since no cgroup file system with the CPU controller is mounted. */
export function cgroups(root: string): Facts["cgroups"] {
  const mounts = readKernelFile(root, "proc/mounts");
  if (!mounts.ok) return undefined;
  for (const line of mounts.value.split("\n")) {
    const [, folder = "", type, options = ""] = line.split(" ");
    // Upstream: the unified hierarchy always can.
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
