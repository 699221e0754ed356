// Reads what a machine uses: CPU time, load, disks, network, pressure stall information and temperature.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Usage } from "../../../shared/protocol/usage.ts";
import { listKernelFolder } from "../../base/reading.ts";
import type { DiskReader } from "./served-files.ts";

/** The amounts that the kernel has in files of their own. The vitals have the memory, and the facts the CPUs. */
export type KernelUsage = Omit<Usage, "cpus" | "memoryWorkingSetBytes" | "memoryCapacityBytes">;

/** USER_HZ, the unit of CPU time in /proc, which is 100 on all of Node.js' architectures. */
export const TICKS_PER_SECOND = 100;
/** The unit of /proc/diskstats in bytes, for any disk. */
const SECTOR_BYTES = 512;

/**
 * Reads the usage; null for each value that the machine does not have. Never rejects. `read` gives up on a file whose
 * server hangs, as lxcfs may, or on a slow sensor.
 */
export async function readUsage(root: string, read: DiskReader): Promise<KernelUsage> {
  const text = async (path: string) => {
    const reading = await read(path);
    return reading.ok ? reading.value : "";
  };
  const [load1 = null, load5 = null, load15 = null] = numbersIn(await text("/proc/loadavg"));
  const [diskReadBytesTotal, diskWrittenBytesTotal] = diskBytes(root, await text("/proc/diskstats"));
  const [networkReceivedBytesTotal, networkSentBytesTotal] = networkBytes(root, await text("/proc/net/dev"));
  const pressure = async (resource: string) => pressureSeconds(await text(`/proc/pressure/${resource}`));
  const [cpu, memory, io] = [await pressure("cpu"), await pressure("memory"), await pressure("io")];
  return {
    uptimeSeconds: numbersIn(await text("/proc/uptime"))[0] ?? null,
    cpuSecondsTotal: cpuSeconds(await text("/proc/stat")),
    load1,
    load5,
    load15,
    diskReadBytesTotal,
    diskWrittenBytesTotal,
    networkReceivedBytesTotal,
    networkSentBytesTotal,
    cpuWaitingSecondsTotal: cpu.some,
    memoryWaitingSecondsTotal: memory.some,
    memoryStalledSecondsTotal: memory.full,
    ioWaitingSecondsTotal: io.some,
    ioStalledSecondsTotal: io.full,
    temperatureCelsius: await hottest(root, text),
  };
}

/** Returns the numbers at the beginning of a text: `0.52 0.48 0.44 1/523 4711` begins with three. */
const numbersIn = (text: string) =>
  (/^(?:[\d.]+ *)*/.exec(text)?.[0] ?? "").trim().split(" ").flatMap(number);

const number = (text: string) => (text !== "" && Number.isFinite(Number(text)) ? [Number(text)] : []);

const hundredths = (value: number) => Math.round(100 * value) / 100;

/** Sums the time in user mode and kernel, as the root cgroup's cpu.stat does; not idle, waiting or stolen time. */
function cpuSeconds(stat: string): number | null {
  const ticks = /^cpu +(\d+) (\d+) (\d+) \d+ \d+ (\d+) (\d+)/m.exec(stat);
  if (ticks === null) return null;
  return hundredths(ticks.slice(1).reduce((sum, each) => sum + Number(each), 0) / TICKS_PER_SECOND);
}

type InOut = [number | null, number | null];

/** Sums the read and the written bytes of real disks: partitions, RAID and LVM would count the same bytes again. */
function diskBytes(root: string, diskstats: string): InOut {
  const rows = diskstats.matchAll(/^ *\d+ +\d+ (\S+) \d+ \d+ (\d+) \d+ \d+ \d+ (\d+)/gm);
  const real = [...rows].filter(([, name = ""]) => isDevice(root, `/sys/block/${name}`));
  return sums(real).map((sectors) => sectors && sectors * SECTOR_BYTES) as InOut;
}

/** Sums the received and the sent bytes of network devices; of all interfaces but lo on a machine without a device. */
function networkBytes(root: string, dev: string): InOut {
  const rows = [...dev.matchAll(/^ *(\S+): *(\d+)(?: +\d+){7} +(\d+)/gm)].filter(([, name]) => name !== "lo");
  const devices = rows.filter(([, name = ""]) => isDevice(root, `/sys/class/net/${name}`));
  return sums(devices.length > 0 ? devices : rows);
}

const isDevice = (root: string, path: string) => existsSync(join(root, path, "device"));

/** Sums the second and the third text of each row; null without a row. */
function sums(rows: readonly RegExpMatchArray[]): InOut {
  if (rows.length === 0) return [null, null];
  const sum = (index: number) => rows.reduce((all, row) => all + Number(row[index]), 0);
  return [sum(2), sum(3)];
}

/** Returns the seconds in which some or all tasks waited; null for a kernel without pressure stall information. */
function pressureSeconds(text: string): { some: number | null; full: number | null } {
  const total = (kind: string) => {
    const microseconds = new RegExp(`^${kind} .*total=(\\d+)`, "m").exec(text)?.[1];
    return microseconds === undefined ? null : hundredths(Number(microseconds) / 1e6);
  };
  return { some: total("some"), full: total("full") };
}

/** The degrees that a sensor without a sensible value is outside of. */
const SENSIBLE = [-100, 200] as const;

/** Returns the temperature of the hottest thermal zone, or of the hottest other sensor if there is no zone. */
async function hottest(root: string, text: (path: string) => Promise<string>): Promise<number | null> {
  const zones = pathsIn(root, "/sys/class/thermal", /^thermal_zone/).map((zone) => `${zone}/temp`);
  const chips = pathsIn(root, "/sys/class/hwmon", /^hwmon/);
  const sensors = chips.flatMap((chip) => pathsIn(root, chip, /^temp\d+_input$/));
  for (const paths of [zones, sensors]) {
    const degrees: number[] = [];
    for (const path of paths) {
      const value = (await text(path)).trim();
      if (/^-?\d+$/.test(value)) degrees.push(Math.round(Number(value) / 100) / 10);
    }
    const sensible = degrees.filter((each) => each > SENSIBLE[0] && each < SENSIBLE[1]);
    if (sensible.length > 0) return Math.max(...sensible);
  }
  return null;
}

function pathsIn(root: string, folder: string, pattern: RegExp): string[] {
  const names = listKernelFolder(root, folder);
  return names.ok ? names.value.filter((name) => pattern.test(name)).map((name) => `${folder}/${name}`) : [];
}
