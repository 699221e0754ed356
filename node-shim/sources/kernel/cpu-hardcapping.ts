// Reads whether the kernel can cap the CPU of a group of processes (CFS quota), as the kubelet's
// validateSystemRequirements does. Decides nothing.
import { readKernelFile } from "../../base/reading.ts";

/** undefined: not known, since no cgroup file system with the CPU controller is mounted. */
export function cpuHardcapping(root: string): boolean | undefined {
  const mounts = readKernelFile(root, "proc/mounts");
  if (!mounts.ok) return undefined;
  for (const line of mounts.value.split("\n")) {
    const [, folder = "", type, options = ""] = line.split(" ");
    // Upstream: the unified hierarchy always can.
    if (type === "cgroup2" && folder === "/sys/fs/cgroup") return true;
    if (type === "cgroup" && options.split(",").includes("cpu")) return hasQuotaFiles(root, folder);
  }
  return undefined;
}

function hasQuotaFiles(root: string, folder: string): boolean {
  return ["cpu.cfs_period_us", "cpu.cfs_quota_us"].every(
    (file) => readKernelFile(root, `${folder.slice(1)}/${file}`).ok,
  );
}
