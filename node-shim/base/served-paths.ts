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

export interface Mount {
  point: string;
  type: string;
  /** What is mounted: /dev/sda1, or a server's name. */
  source: string;
  /** true if the mount is read-only, or its file system, as after a fault of its disk. */
  isReadOnly: boolean;
}

/** Returns a text of mountinfo, which has blanks and line breaks as octal numbers. */
const unescaped = (text: string) =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Returns the mounts of a process, which the kernel itself serves; none if mountinfo is unreadable. */
export function mounts(root: string, process = "self"): Mount[] {
  try {
    const lines = readFileSync(join(root, `/proc/${process}/mountinfo`), "utf8").split("\n");
    return lines.flatMap((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const [, , , , point, options = ""] = before.split(" ");
      const [type = "", source = "", ofAll = ""] = after.split(" ").map(unescaped);
      const isReadOnly = [options, ofAll].some((list) => list.split(",").includes("ro"));
      return point === undefined ? [] : { point: unescaped(point), type, source, isReadOnly };
    });
  } catch {
    return [];
  }
}
