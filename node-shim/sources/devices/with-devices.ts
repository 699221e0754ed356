// Adds the devices to the facts: those of the device plugins or, where these are not served, that there are none.
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { type DeviceManager, type DeviceManagerOptions, startDeviceManager } from "./manager.ts";
import { readRecord } from "./record.ts";

interface WithDevices<G> {
  /** Rejects as startDeviceManager does. */
  gathering: Promise<() => Promise<G>>;
  /** May be called while it starts; nothing is left of it afterwards. */
  close: () => Promise<void>;
}

/** Makes a `gather` that adds the devices to the facts. */
export function startDevices<G extends { facts: Facts }>(
  gather: () => Promise<G>,
  folder: string | undefined, // --device-plugins
  options: Omit<DeviceManagerOptions, "folder">,
): WithDevices<G> {
  const starting =
    folder === undefined
      ? Promise.resolve(formerDevices(options.stateFolder))
      : startDeviceManager({ ...options, folder });
  const gatherBoth = (manager: DeviceManager | null) => async () => {
    if (manager === null) return gather();
    const [gathered, devices] = await Promise.all([gather(), manager.read()]);
    return { ...gathered, facts: { ...gathered.facts, devices } };
  };
  const close = async () => {
    const manager = await starting.catch(() => null);
    await manager?.close();
  };
  return { gathering: starting.then(gatherBoth), close };
}

/** Resources that plugins announced while they were served count as removed. null: they were never served. */
function formerDevices(stateFolder: string): DeviceManager | null {
  const before = readRecord(stateFolder, () => undefined);
  if (before === null) return null;
  const removed = [...before.registered, ...before.removed].slice(0, FACTS_LIMITS.extendedResources);
  const devices = { capacity: {}, allocatable: {}, removed, recorded: true };
  return { read: () => Promise.resolve(devices), close: () => Promise.resolve() };
}
