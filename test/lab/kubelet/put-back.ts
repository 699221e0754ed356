// Records the settings that a kubelet changes on a machine, and restores them after it has ended.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The settings that the kubelet's container manager sets (setupKernelTunables). */
const SYSCTLS = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
].map((name) => join("/proc/sys", name));

const FOLDERS = [
  "/var/lib/kubelet",
  "/var/log/pods",
  "/var/log/containers",
  "/usr/libexec/kubernetes",
  "/etc/kubernetes",
];
const CGROUPS = "/sys/fs/cgroup";

/**
 * Records the machine's settings. Returns a function that restores them, and unmounts everything below `folder`.
 */
export function notePutBack(folder: string): () => void {
  const sysctls = SYSCTLS.filter(existsSync).map((path) => [path, readFileSync(path, "utf8")] as const);
  const absent = FOLDERS.filter((folder) => !existsSync(folder));
  const cgroups = new Set(cgroupFolders());
  return () => {
    for (const mount of mountsBelow(folder).toReversed()) execFileSync("umount", [mount]);
    for (const [path, value] of sysctls) if (readFileSync(path, "utf8") !== value) writeFileSync(path, value);
    for (const folder of absent) rmSync(folder, { recursive: true, force: true });
    const added = cgroupFolders().filter((folder) => !cgroups.has(folder));
    // A cgroup that another program has made since, and uses, cannot be removed, and must stay.
    for (const folder of added.toReversed()) {
      try {
        rmdirSync(folder);
      } catch {
        continue;
      }
    }
  };
}

/** Lists the mounts below a folder: the kubelet mounts its own folder over itself, to share it with pods. */
function mountsBelow(folder: string): string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  return mounts.flatMap((line) => {
    const point = line.split(" ")[1] ?? "";
    return point.startsWith(`${folder}/`) ? [point] : [];
  });
}

/**
 * Matches the cgroups that a kubelet and its runtime make. Other programs of this machine also make cgroups, which
 * must stay.
 */
const MADE = /\/(kubepods|kubelet|kube|runtime|podruntime|system\.slice\/(kubelet|containerd))[^/]*(\/|$)/;

function cgroupFolders(): string[] {
  return readdirSync(CGROUPS, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((folder) => MADE.test(folder))
    .sort();
}
