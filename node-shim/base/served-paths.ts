// Finds the files of /proc and /sys that are not the kernel's own: lxcfs serves some in a container, and a mount can
// replace each of them, also by a file of a network. If their server hangs, a read never returns.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The file systems in which the kernel itself answers at once. */
const KERNELS_OWN: ReadonlySet<string> = new Set(["proc", "sysfs", "cgroup", "cgroup2"]);

/** Returns those of the paths that a mount below / covers with a file system that is not the kernel's own. */
export function servedPaths(root: string, paths: readonly string[]): string[] {
  const mounted = mounts(root);
  return paths.filter((path) => {
    // A later line covers an earlier one of the same point, and a longer point is deeper.
    const over = mounted.filter(({ point }) => path === point || path.startsWith(`${point}/`));
    const [covering] = over.toReversed().toSorted((a, b) => b.point.length - a.point.length);
    return covering !== undefined && !KERNELS_OWN.has(covering.type);
  });
}

interface Mount {
  point: string;
  type: string;
}

/** Returns the mounts of mountinfo, which the kernel itself serves; none if mountinfo is unreadable. */
function mounts(root: string): Mount[] {
  try {
    const lines = readFileSync(join(root, "/proc/self/mountinfo"), "utf8").split("\n");
    return lines.flatMap((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const point = before.split(" ")[4];
      return point === undefined ? [] : { point, type: after.split(" ", 1)[0] ?? "" };
    });
  } catch {
    return [];
  }
}
