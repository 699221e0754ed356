// Tests how the shim reads the machine's usage from /proc and /sys.
import { expect, it, test } from "vitest";
import { diskReader } from "../../../../node-shim/sources/kernel/served-files.ts";
import { readUsage } from "../../../../node-shim/sources/kernel/usage.ts";
import { rootWith } from "./tree.ts";

const SERVER: Record<string, string> = {
  "/proc/uptime": "26597.61 10333.52\n",
  "/proc/stat": "cpu  276723 71865 68634 1033352 29662 10 3144 26191 5 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n",
  "/proc/loadavg": "5.62 3.43 2.99 2/3518 3715089\n",
  "/proc/diskstats": [
    " 259       0 nvme0n1 1000 1 4000 50 2000 2 6000 90 0 100 140 0 0 0 0 166 184",
    " 259       1 nvme0n1p1 900 1 3900 50 1900 2 5900 90 0 100 140 0 0 0 0 166 184",
    "   8       0 sda 10 0 100 5 10 0 200 5 0 10 10",
    " 253       0 dm-0 1000 1 4000 50 2000 2 6000 90 0 100 140 0 0 0 0 166 184",
    "",
  ].join("\n"),
  "/sys/block/nvme0n1/device/model": "",
  "/sys/block/sda/device/model": "",
  "/proc/net/dev": [
    "Inter-|   Receive                        |  Transmit",
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets",
    "    lo: 999 9 0 0 0 0 0 0 999 9 0 0 0 0 0 0",
    "  eth0: 6510 248 0 0 0 0 0 0 2256 196 0 0 0 0 0 0",
    "  eth1:  100   1 0 0 0 0 0 0   50   1 0 0 0 0 0 0",
    " bond0: 6610 249 0 0 0 0 0 0 2306 197 0 0 0 0 0 0",
    "",
  ].join("\n"),
  "/sys/class/net/eth0/device/vendor": "",
  "/sys/class/net/eth1/device/vendor": "",
  "/proc/pressure/cpu":
    "some avg10=64.99 avg60=58.63 avg300=36.21 total=15539267068\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
  "/proc/pressure/memory":
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1254999\n",
  "/proc/pressure/io":
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=639230000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=196300000\n",
  "/sys/class/thermal/thermal_zone0/temp": "41000\n",
  "/sys/class/thermal/thermal_zone1/temp": "56250\n",
  "/sys/class/thermal/cooling_device0/temp": "99000\n",
  "/sys/class/hwmon/hwmon0/temp1_input": "71000\n",
};

/** Reads the usage of the server with other files. null removes the file. */
function usageWith(others: Record<string, string | null> = {}) {
  const root = rootWith("vm", { "/sys/block": null, "/sys/class": null, ...SERVER, ...others });
  return readUsage(root, diskReader(root));
}

it("a server → disks and network devices once each, not their partitions, volumes and bonds", async () => {
  expect(await usageWith()).toEqual({
    uptimeSeconds: 26_597.61,
    cpuSecondsTotal: 4203.76,
    load1: 5.62,
    load5: 3.43,
    load15: 2.99,
    diskReadBytesTotal: 4100 * 512,
    diskWrittenBytesTotal: 6200 * 512,
    networkReceivedBytesTotal: 6610,
    networkSentBytesTotal: 2306,
    cpuWaitingSecondsTotal: 15_539.27,
    memoryWaitingSecondsTotal: 2.5,
    memoryStalledSecondsTotal: 1.25,
    ioWaitingSecondsTotal: 639.23,
    ioStalledSecondsTotal: 196.3,
    temperatureCelsius: 56.3,
  });
});

const PSI = { "/proc/pressure/cpu": null, "/proc/pressure/memory": null, "/proc/pressure/io": null };
const ZONES = {
  "/sys/class/thermal/thermal_zone0/temp": null,
  "/sys/class/thermal/thermal_zone1/temp": null,
};
test.each<[situation: string, others: Record<string, string | null>, usage: object]>([
  ["a kernel without PSI", PSI, { cpuWaitingSecondsTotal: null, ioStalledSecondsTotal: null }],
  [
    "a container, whose interface is no device",
    { "/sys/class/net/eth0/device/vendor": null, "/sys/class/net/eth1/device/vendor": null },
    { networkReceivedBytesTotal: 6510 + 100 + 6610 },
  ],
  [
    "a machine without a disk of its own",
    { "/sys/block/nvme0n1/device/model": null, "/sys/block/sda/device/model": null },
    { diskReadBytesTotal: null, diskWrittenBytesTotal: null },
  ],
  ["no thermal zone → the other sensors", ZONES, { temperatureCelsius: 71 }],
  ["no sensor", { ...ZONES, "/sys/class/hwmon/hwmon0/temp1_input": null }, { temperatureCelsius: null }],
  [
    "a sensor without a sensible value → the others",
    { "/sys/class/thermal/thermal_zone1/temp": "-274000\n" },
    { temperatureCelsius: 41 },
  ],
  [
    "a freezer",
    { ...ZONES, "/sys/class/hwmon/hwmon0/temp1_input": "-20500\n" },
    { temperatureCelsius: -20.5 },
  ],
  [
    "files of another form",
    { "/proc/stat": "intr 1\n", "/proc/uptime": "\n", "/proc/loadavg": "load\n" },
    { cpuSecondsTotal: null, uptimeSeconds: null, load1: null, load15: null },
  ],
])("%s", async (_, others, usage) => {
  expect(await usageWith(others)).toMatchObject(usage);
});

it("nothing can be read → null each, and nothing is thrown", async () => {
  const none = await readUsage("/nowhere", diskReader("/nowhere"));
  expect(new Set(Object.values(none))).toEqual(new Set([null]));
});
