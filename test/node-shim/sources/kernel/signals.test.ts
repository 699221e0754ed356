import { expect, test } from "vitest";
import { unreadable } from "../../../../node-shim/base/reading.ts";
import { memoryAvailable, oomKills, pidAvailable } from "../../../../node-shim/sources/kernel/signals.ts";
import { success } from "../../../../shared/result.ts";
import { type Machine, rootWith } from "./tree.ts";

const error = unreadable(expect.any(String) as string);
const missing = unreadable(expect.any(String) as string, "missing");
const SWITCHED_OFF = unreadable(expect.stringContaining("cgroup_enable=memory") as string, "missing");
type Row = [situation: string, Machine, Record<string, string | null>, outcome: unknown];

const VM_BYTES = 24_684_096 * 1024;
const GIB = 1024 ** 3;
/** The server's memory without its huge pages: four of 1 GiB, and 1024 of 2 MiB. */
const SERVER_BYTES = 131_072_000 * 1024 - 6 * GIB;
const PAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
const V1 = "/sys/fs/cgroup/memory";
const V2_STAT = "/sys/fs/cgroup/memory.stat";

test.each<Row>([
  [
    "cgroup v1 → usage less inactive page cache is in use",
    "vm",
    {},
    success([VM_BYTES - 1_000_000_000, VM_BYTES]),
  ],
  [
    "cgroup v2 → anon and file less inactive page cache is in use",
    "numa-server",
    {},
    success([SERVER_BYTES - 16_000_000_000, SERVER_BYTES]),
  ],
  [
    "12 GiB of huge pages → neither available nor capacity",
    "vm",
    { [PAGES]: "6144\n" },
    success([VM_BYTES - 12 * GIB - 1_000_000_000, VM_BYTES - 12 * GIB]),
  ],
  [
    "more used than remains next to the huge pages → nothing available",
    "vm",
    { [PAGES]: "11600\n" },
    success([0, VM_BYTES - 11_600 * 2 ** 21]),
  ],
  ["huge pages that cannot be counted → no signal", "vm", { [PAGES]: "many\n" }, error],
  [
    "v1: more inactive than used → nothing is in use",
    "vm",
    { [`${V1}/memory.usage_in_bytes`]: "5\n" },
    success([VM_BYTES, VM_BYTES]),
  ],
  [
    "v1: no inactive page cache in the file → all usage",
    "vm",
    { [`${V1}/memory.stat`]: "cache 1\n" },
    success([VM_BYTES - 1_073_741_824, VM_BYTES]),
  ],
  [
    "v1: more used than the capacity → nothing available",
    "vm",
    { [`${V1}/memory.usage_in_bytes`]: "99999999999\n" },
    success([0, VM_BYTES]),
  ],
  [
    "v1: memory controller switched off → no signal, and the kernel's parameter that switches it on",
    "vm",
    { [V1]: null },
    SWITCHED_OFF,
  ],
  ["v1: usage is no number → no signal", "vm", { [`${V1}/memory.usage_in_bytes`]: "max\n" }, error],
  ["v1: no memory.stat → no signal", "vm", { [`${V1}/memory.stat`]: null }, missing],
  [
    "v2: memory controller switched off → no signal, and the kernel's parameter that switches it on",
    "arm-board",
    {},
    SWITCHED_OFF,
  ],
  [
    "v2: memory.stat without anon → no signal",
    "numa-server",
    { [V2_STAT]: "inactive_anon 1\nfile 2\n" },
    error,
  ],
  ["no cgroups → no signal", "vm", { "/sys/fs/cgroup": null }, missing],
  ["no /proc/meminfo → no signal", "numa-server", { "/proc/meminfo": null }, missing],
])("memory.available: %s", (_, machine, changes, outcome) => {
  expect(memoryAvailable(rootWith(machine, changes))).toEqual(outcome);
});

const PID_MAX = "/proc/sys/kernel/pid_max";
const THREADS_MAX = "/proc/sys/kernel/threads-max";

test.each<Row>([
  ["pid_max below threads-max → that is the limit", "vm", {}, success([32_768 - 113, 32_768])],
  [
    "threads-max below pid_max → that is the limit",
    "numa-server",
    {},
    success([1_023_455 - 3518, 1_023_455]),
  ],
  ["no pid_max → threads-max", "vm", { [PID_MAX]: null }, success([192_730 - 113, 192_730])],
  [
    "no threads-max → pid_max",
    "numa-server",
    { [THREADS_MAX]: null },
    success([4_194_304 - 3518, 4_194_304]),
  ],
  ["a limit that is no number → the other", "vm", { [PID_MAX]: "?\n" }, success([192_730 - 113, 192_730])],
  ["more threads than the limit → nothing available", "vm", { [PID_MAX]: "100\n" }, success([0, 100])],
  ["neither limit → no signal", "vm", { [PID_MAX]: null, [THREADS_MAX]: null }, error],
  ["no /proc/loadavg → no signal", "vm", { "/proc/loadavg": null }, missing],
  ["a /proc/loadavg of another shape → no signal", "vm", { "/proc/loadavg": "0.00 0.00 0.00 113\n" }, error],
])("pid.available: %s", (_, machine, changes, outcome) => {
  expect(pidAvailable(rootWith(machine, changes))).toEqual(outcome);
});

test.each<[situation: string, vmstat: string | null, outcome: object]>([
  ["none so far", "pgpgin 77\noom_kill 0\nnuma_hit 12\n", { ok: true, value: 0 }],
  ["some, in the last line", "pgpgin 77\noom_kill 12", { ok: true, value: 12 }],
  ["a counter whose name only contains the word", "oom_kill_x 3\nmy_oom_kill 4\n", { ok: false }],
  ["a kernel that does not count them", "pgpgin 77\n", { ok: false, error: { reason: "missing" } }],
  ["no /proc/vmstat", null, { ok: false, error: { reason: "missing" } }],
])("%s", (_situation, vmstat, outcome) => {
  expect(oomKills(rootWith("vm", { "/proc/vmstat": vmstat }))).toMatchObject(outcome);
});
