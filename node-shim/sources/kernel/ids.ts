// Reads the IDs of this machine and of its boot. Neither validates nor generates one.
import { readDiskFile, readKernelFile, type Reading } from "../../base/reading.ts";

const BOOT_ID = "/proc/sys/kernel/random/boot_id";
const MACHINE_ID = "/etc/machine-id";
const DBUS_MACHINE_ID = "/var/lib/dbus/machine-id";

/** cAdvisor Info, `boot_id_file`. */
export function bootID(root: string): Reading<string> {
  return trimmed(readKernelFile(root, BOOT_ID), BOOT_ID);
}

/** The first that can be read counts, even when it is empty (cAdvisor getInfoFromFiles, `machine_id_file`). */
export async function machineID(root: string): Promise<Reading<string>> {
  const systemd = await readDiskFile(root, MACHINE_ID);
  if (systemd.ok) return trimmed(systemd, MACHINE_ID);
  const dbus = await readDiskFile(root, DBUS_MACHINE_ID);
  return dbus.ok ? trimmed(dbus, DBUS_MACHINE_ID) : systemd;
}

/**
 * From DMI (which only root may read), else from the device tree of a POWER machine, else the machine ID
 * (cAdvisor sysfs.GetSystemUUID).
 */
export async function systemUUID(root: string): Promise<Reading<string>> {
  for (const path of [
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/system-id",
    "/proc/device-tree/vm,uuid",
  ]) {
    const file = readKernelFile(root, path);
    if (file.ok) return trimmed(file, path);
  }
  return trimmed(await readDiskFile(root, MACHINE_ID), MACHINE_ID);
}

/** Without white space, and without the NUL that ends a text in a device tree. */
function trimmed(file: Reading<string>, source: string): Reading<string> {
  // oxlint-disable-next-line no-control-regex -- the NUL is what is looked for
  return file.ok ? { ok: true, value: file.value.replace(/\0+$/, "").trim(), source } : file;
}
