// Adds the devices to what is gathered: those of the device plugins or, where they are not served, that there are none.
import { type Facts, FACTS_LIMITS } from "../../shared/facts.ts";
import { type DeviceManager, type DeviceManagerOptions, startDeviceManager } from "./manager.ts";
import { readRecord } from "./record.ts";

interface WithDevices<G> {
  gather: () => Promise<G>;
  close: () => Promise<void>;
}

/** `gather`, and the devices with its facts. Throws as startDeviceManager does. */
export async function startDevices<G extends { facts: Facts }>(
  gather: () => Promise<G>,
  folder: string | undefined, // --device-plugins
  options: Omit<DeviceManagerOptions, "folder">,
): Promise<WithDevices<G>> {
  const manager =
    folder === undefined
      ? formerDevices(options.stateFolder)
      : await startDeviceManager({ ...options, folder });
  if (manager === null) return { gather, close: () => Promise.resolve() };
  const both = async () => {
    const [gathered, devices] = await Promise.all([gather(), manager.read()]);
    return { ...gathered, facts: { ...gathered.facts, devices } };
  };
  return { gather: both, close: manager.close };
}

/** What plugins had announced while they were served is gone. null: they never were. */
function formerDevices(stateFolder: string): DeviceManager | null {
  const before = readRecord(stateFolder, () => undefined);
  if (before === null) return null;
  const removed = [...before.registered, ...before.removed].slice(0, FACTS_LIMITS.extendedResources);
  const devices = { capacity: {}, allocatable: {}, removed, recorded: true };
  return { read: () => Promise.resolve(devices), close: () => Promise.resolve() };
}
