// Reads this machine's name, its IDs, the ID of its boot, and the name of its operating system.
import { getHostname } from "../../../shared/node/node-name.ts";
import { type Result, success } from "../../../shared/result.ts";
import { type Reading, readKernelFile } from "../../base/reading.ts";
import type { DiskReader } from "./served-files.ts";

/** Returns the override or, if it is empty, the machine's own name; trimmed and in lower case. */
export function hostname(
  override: string, // typically --hostname-override
  ownName: () => string, // typically os.hostname
): Result<string> {
  return getHostname(override === "" ? ownName() : override);
}

const BOOT_ID = "/proc/sys/kernel/random/boot_id";
const MACHINE_ID = "/etc/machine-id";
const DBUS_MACHINE_ID = "/var/lib/dbus/machine-id";

/** Reads the ID of the present boot from cAdvisor's `boot_id_file`. */
export function bootID(root: string): Reading<string> {
  return trimmed(readKernelFile(root, BOOT_ID), BOOT_ID);
}

const FIRST_PROCESS = "/proc/1/stat";
/** The unit of times in /proc (USER_HZ), in milliseconds: the same on all platforms of Node.js. */
const TICK_MS = 10;

/** Reads when the first process started, in milliseconds since the kernel's start: in a container much later. */
export function firstProcessMs(root: string): Reading<number> {
  const stat = readKernelFile(root, FIRST_PROCESS);
  if (!stat.ok) return stat;
  // The name of the process may have blanks. `starttime` is the 20th field after it.
  const ticks = stat.value.slice(stat.value.lastIndexOf(")") + 2).split(" ")[19];
  return success(Number(ticks) * TICK_MS);
}

/** Reads the machine ID: the first readable file counts, even an empty one (cAdvisor `machine_id_file`). */
export async function machineID(read: DiskReader): Promise<Reading<string>> {
  const systemd = await read(MACHINE_ID);
  if (systemd.ok) return trimmed(systemd, MACHINE_ID);
  const dbus = await read(DBUS_MACHINE_ID);
  return dbus.ok ? trimmed(dbus, DBUS_MACHINE_ID) : systemd;
}

/** Reads the system UUID: from DMI (root only), else POWER's device tree, else the machine ID (sysfs.GetSystemUUID). */
export async function systemUUID(read: DiskReader): Promise<Reading<string>> {
  for (const path of [
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/system-id",
    "/proc/device-tree/vm,uuid",
  ]) {
    const file = await read(path);
    if (file.ok) return trimmed(file, path);
  }
  return trimmed(await read(MACHINE_ID), MACHINE_ID);
}

/** Removes white space from a file's text, and the NUL at the end of a text in a device tree. */
function trimmed(file: Reading<string>, source: string): Reading<string> {
  // oxlint-disable-next-line no-control-regex -- the NUL is what is looked for
  return file.ok ? { ok: true, value: file.value.replace(/\0+$/, "").trim(), source } : file;
}

/** Returns the first PRETTY_NAME without its quotes; `Linux` if there is none (cAdvisor getOperatingSystem). */
export async function osImage(read: DiskReader): Promise<Reading<string>> {
  let source = "/etc/os-release";
  let file = await read(source);
  if (!file.ok && file.error.reason === "missing") {
    source = "/usr/lib/os-release";
    file = await read(source);
  }
  if (!file.ok) return file;
  const name = /PRETTY_NAME=([^\n]*)/.exec(file.value)?.[1];
  return { ok: true, value: name === undefined ? "Linux" : name.replace(/^"+|"+$/g, ""), source };
}
