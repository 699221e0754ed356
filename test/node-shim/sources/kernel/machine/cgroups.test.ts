import { expect, test } from "vitest";
import { cgroups } from "../../../../../node-shim/sources/kernel/machine.ts";
import { rootWith } from "../tree.ts";

const CPU = "/sys/fs/cgroup/cpu,cpuacct";
const V1 = `tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup ${CPU} cgroup rw,nosuid,cpu,cpuacct 0 0\n`;
const QUOTA = { [`${CPU}/cpu.cfs_quota_us`]: "-1\n" };
const PERIOD = { [`${CPU}/cpu.cfs_period_us`]: "100000\n" };

test.each<[situation: string, files: Record<string, string | null>, outcome: ReturnType<typeof cgroups>]>([
  [
    "cgroup v2 → it can",
    { "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n" },
    { cpuHardcapping: true, version: 2 },
  ],
  [
    "cgroup v1 with quota and period → it can",
    { "/proc/mounts": V1, ...QUOTA, ...PERIOD },
    { cpuHardcapping: true, version: 1 },
  ],
  [
    "cgroup v1 without a quota → it cannot",
    { "/proc/mounts": V1, ...PERIOD },
    { cpuHardcapping: false, version: 1 },
  ],
  [
    "cgroup v1 without a period → it cannot",
    { "/proc/mounts": V1, ...QUOTA },
    { cpuHardcapping: false, version: 1 },
  ],
  [
    "v2 beside v1, for systemd alone → v1 decides",
    { "/proc/mounts": `cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n${V1}` },
    { cpuHardcapping: false, version: 1 },
  ],
  ["no CPU controller → nobody knows", { "/proc/mounts": "cgroup /c cgroup rw,memory 0 0\n" }, undefined],
  ["no /proc/mounts → nobody knows", { "/proc/mounts": null }, undefined],
])("%s", (_situation, files, outcome) => {
  expect(cgroups(rootWith("vm", files))).toEqual(outcome);
});
