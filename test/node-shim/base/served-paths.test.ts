// Tests which files of /proc and /sys are not the kernel's own, by the mounts.
import { expect, it } from "vitest";
import { servedPaths } from "../../../node-shim/base/served-paths.ts";
import { rootOf, rootWith } from "../sources/kernel/tree.ts";

/** Returns a line of mountinfo. */
const mounted = (point: string, type: string) =>
  `36 35 0:52 / ${point} rw,nosuid - ${type} ${type} rw,user_id=0\n`;
const PATHS = ["/proc/meminfo", "/sys/devices/system/cpu/online"];

it("no mountinfo → none", () => {
  expect(servedPaths(rootOf("vm"), PATHS)).toEqual([]);
});

it.each<[mountinfo: string, paths: string[]]>([
  ["", []],
  [mounted("/proc", "proc"), []],
  [mounted("/proc/meminfo", "fuse.lxcfs"), ["/proc/meminfo"]],
  [mounted("/proc", "fuse"), ["/proc/meminfo"]],
  [mounted("/sys/devices/system/cpu", "fuse.lxcfs"), ["/sys/devices/system/cpu/online"]],
  [mounted("/sys/devices/system/cp", "fuse.lxcfs"), []],
  [mounted("/", "nfs4") + mounted("/proc", "proc"), []],
  [mounted("/proc/meminfo", "nfs4"), ["/proc/meminfo"]],
  [mounted("/proc", "proc") + mounted("/proc/meminfo", "tmpfs"), ["/proc/meminfo"]],
  [mounted("/proc/meminfo", "tmpfs") + mounted("/proc/meminfo", "proc"), []],
])("mountinfo is %j → served: %j", (mountinfo, paths) => {
  const root = rootWith("vm", { "/proc/self/mountinfo": mountinfo });
  expect(servedPaths(root, PATHS)).toEqual(paths);
});
