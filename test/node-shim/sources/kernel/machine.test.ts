import { expect, test } from "vitest";
import { unreadable } from "../../../../node-shim/base/reading.ts";
import {
  architecture,
  cgroups,
  hugePages,
  logicalCores,
  memory,
  runningInUserNamespace,
} from "../../../../node-shim/sources/kernel/machine.ts";
import { success } from "../../../../shared/result.ts";
import { type Machine, rootOf, rootWith } from "./tree.ts";

const error = unreadable(expect.any(String) as string);
const missing = unreadable(expect.any(String) as string, "missing");
const ONLINE = "/sys/devices/system/cpu/online";

test.each<[situation: string, Machine, Record<string, string | null>, outcome: object]>([
  [
    "all CPUs of one NUMA node online → all",
    "vm",
    {},
    { ok: true, value: 2, source: "/sys/devices/system/node" },
  ],
  ["two NUMA nodes, three of eight CPUs offline → five", "numa-server", {}, success(5)],
  ["a kernel that cannot take CPUs offline → all", "numa-server", { [ONLINE]: null }, success(8)],
  [
    "no NUMA nodes → all CPUs, also offline ones, as cAdvisor counts them",
    "arm-board",
    {},
    { ok: true, value: 4, source: "/sys/devices/system/cpu" },
  ],
  ["CPU numbers with gaps → the number of CPUs", "ipv6-only", {}, success(2)],
  [
    "a CPU without topology → not counted",
    "vm",
    { "/sys/devices/system/node/node0/cpu1/topology/core_id": null },
    success(1),
  ],
  [
    "a NUMA node without CPUs → adds none",
    "vm",
    { "/sys/devices/system/node/node1/meminfo": "" },
    success(2),
  ],
  ["no list of online CPUs in the file → error", "vm", { [ONLINE]: "0-1-2\n" }, error],
  ["an empty list of online CPUs → error", "vm", { [ONLINE]: "" }, error],
  ["every CPU offline → error", "vm", { [ONLINE]: "7\n" }, error],
  ["neither nodes nor CPUs → error", "vm", { "/sys/devices/system": null }, error],
])("cores: %s", (_, machine, changes, outcome) => {
  expect(logicalCores(rootWith(machine, changes))).toMatchObject(outcome);
});

test.each<[situation: string, Machine, meminfo: string | null | undefined, outcome: unknown]>([
  ["no swap → 0", "vm", undefined, success({ memoryBytes: 24_684_096 * 1024, swapBytes: 0 })],
  [
    "swap → its size",
    "numa-server",
    undefined,
    success({ memoryBytes: 134_217_728_000, swapBytes: 8_589_930_496 }),
  ],
  ["no /proc/meminfo → error", "vm", null, missing],
  ["no MemTotal → error", "vm", "SwapTotal: 0 kB\n", error],
  ["no SwapTotal → error", "vm", "MemTotal: 1024 kB\n", error],
  ["a MemTotal in no known unit → error", "vm", "MemTotal: 1024 MB\nSwapTotal: 0 kB\n", error],
])("memory: %s", (_, machine, meminfo, outcome) => {
  expect(
    memory(meminfo === undefined ? rootOf(machine) : rootWith(machine, { "/proc/meminfo": meminfo })),
  ).toEqual(outcome);
});

const PAGES = "/sys/kernel/mm/hugepages";

test.each<[situation: string, Machine, Record<string, string | null>, outcome: unknown]>([
  [
    "sizes without pages → reported with 0",
    "vm",
    {},
    success([
      { pageSizeKiB: 1_048_576, pages: 0 },
      { pageSizeKiB: 2048, pages: 0 },
    ]),
  ],
  [
    "pages of 1Gi and 2Mi → both",
    "numa-server",
    {},
    success([
      { pageSizeKiB: 1_048_576, pages: 4 },
      { pageSizeKiB: 2048, pages: 1024 },
    ]),
  ],
  ["a kernel without huge pages → none, and no error", "arm-board", {}, success([])],
  [
    "other names in the folder → ignored",
    "vm",
    { [`${PAGES}/hugepages-1048576kB`]: null, [`${PAGES}/other`]: "" },
    success([{ pageSizeKiB: 2048, pages: 0 }]),
  ],
  ["a count that is missing → error", "vm", { [`${PAGES}/hugepages-2048kB/nr_hugepages`]: null }, missing],
  [
    "a count that is no number → error",
    "vm",
    { [`${PAGES}/hugepages-2048kB/nr_hugepages`]: "many\n" },
    error,
  ],
])("huge pages: %s", (_, machine, changes, outcome) => {
  expect(hugePages(rootWith(machine, changes))).toEqual(outcome);
});

test.each([
  ["x64", "amd64"],
  ["ia32", "386"],
  ["ppc64", "ppc64le"],
  ["arm", "arm"],
  ["arm64", "arm64"],
  ["riscv64", "riscv64"],
  ["s390x", "s390x"],
])("architecture: Node's %s → Go's %s", (node, go) => {
  expect(architecture(node)).toBe(go);
});

const CPU = "/sys/fs/cgroup/cpu,cpuacct";
const V1 = `tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup ${CPU} cgroup rw,nosuid,cpu,cpuacct 0 0\n`;
const QUOTA = { [`${CPU}/cpu.cfs_quota_us`]: "-1\n" };
const PERIOD = { [`${CPU}/cpu.cfs_period_us`]: "100000\n" };

test.each<[situation: string, files: Record<string, string | null>, outcome: ReturnType<typeof cgroups>]>([
  [
    "cgroup v2 → CPU limits work",
    { "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n" },
    { cpuHardcapping: true, version: 2 },
  ],
  [
    "cgroup v1 with quota and period → CPU limits work",
    { "/proc/mounts": V1, ...QUOTA, ...PERIOD },
    { cpuHardcapping: true, version: 1 },
  ],
  [
    "cgroup v1 without a quota → CPU limits do not work",
    { "/proc/mounts": V1, ...PERIOD },
    { cpuHardcapping: false, version: 1 },
  ],
  [
    "cgroup v1 without a period → CPU limits do not work",
    { "/proc/mounts": V1, ...QUOTA },
    { cpuHardcapping: false, version: 1 },
  ],
  [
    "v2 next to v1, only for systemd → v1 decides",
    { "/proc/mounts": `cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n${V1}` },
    { cpuHardcapping: false, version: 1 },
  ],
  ["no CPU controller → unknown", { "/proc/mounts": "cgroup /c cgroup rw,memory 0 0\n" }, undefined],
  ["no /proc/mounts → unknown", { "/proc/mounts": null }, undefined],
])("%s", (_situation, files, outcome) => {
  expect(cgroups(rootWith("vm", files))).toEqual(outcome);
});

test.each<[situation: string, map: string | null, outcome: boolean]>([
  ["all IDs of the machine → no", "         0          0 4294967295\n", false],
  [
    "a rootless container's IDs → yes",
    "         0       1000          1\n         1     100000      65536\n",
    true,
  ],
  ["one ID less than the machine's → yes", "0 0 4294967294\n", true],
  ["other IDs for root → yes", "0 100000 4294967295\n", true],
  ["a namespace without a map yet → no, as for a kubelet", "", false],
  ["a map of another form → no", "0 1000\n", false],
  ["a kernel without user namespaces → no", null, false],
])("user namespace: %s", (_, map, outcome) => {
  expect(runningInUserNamespace(rootWith("vm", { "/proc/self/uid_map": map }))).toBe(outcome);
});
