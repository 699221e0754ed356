// Finds the files of /proc and /sys that a program serves by FUSE in a container, such as lxcfs. If the program hangs, a
// read of such a file never returns.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns those of the paths that a program serves, or that are in a folder that a program serves. */
export function servedPaths(root: string, paths: readonly string[]): string[] {
  const served = mounts(root).flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    return after.startsWith("fuse") ? [before.split(" ")[4] ?? ""] : [];
  });
  return paths.filter((path) => served.some((mount) => path === mount || path.startsWith(`${mount}/`)));
}

/** Returns the lines of mountinfo, which the kernel itself serves; none if mountinfo is unreadable. */
function mounts(root: string): string[] {
  try {
    return readFileSync(join(root, "/proc/self/mountinfo"), "utf8").split("\n");
  } catch {
    return [];
  }
}
