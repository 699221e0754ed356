// Makes a shim's device manager, and plugins that register with it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import {
  type DeviceManager,
  recordFile,
  startDeviceManager,
} from "../../../../node-shim/sources/devices/manager.ts";
import type { KnownResources } from "../../../../node-shim/sources/devices/resources.ts";
import { eventually } from "../../base/eventually.ts";
import { type VendorPlugin, vendorPlugin } from "./vendor-plugin.ts";

export interface Machine {
  /** The folder where plugins register. */
  folder: string;
  stateFolder: string;
  said: string[];
  /** Advances the clock by `ms`. */
  pass: (ms: number) => void;
  /** Starts a process of the shim, and ends the former process. */
  startShim: (more?: { folder?: string }) => Promise<DeviceManager>;
}

export function machine(): Machine {
  const stateFolder = mkdtempSync(join(tmpdir(), "dev-"));
  const folder = join(stateFolder, "plugins");
  const said: string[] = [];
  let nowMs = 1000;
  let running: DeviceManager | null = null;
  onTestFinished(async () => {
    await running?.close();
    rmSync(stateFolder, { recursive: true, force: true });
  });
  return {
    folder,
    stateFolder,
    said,
    pass: (ms) => {
      nowMs += ms;
    },
    async startShim(more = {}) {
      await running?.close();
      running = null;
      running = await startDeviceManager({
        folder,
        stateFolder,
        nowMs: () => nowMs,
        // A wait ends at once, and advances the clock by its length.
        sleep: (ms) => {
          nowMs += ms;
          return Promise.resolve();
        },
        log: (level, message) => void said.push(`${level} ${message}`),
        ...more,
      });
      return running;
    },
  };
}

/** Writes the record of the devices. Throws if it cannot be written. */
export async function writeRecord(stateFolder: string, known: KnownResources): Promise<void> {
  const fault = await recordFile(stateFolder).write(JSON.stringify(known));
  if (fault !== null) throw new Error(fault);
}

export const GPU = "example.com/gpu";
export const TWO_AND_ONE = { a: "Healthy", b: "Healthy", c: "Unhealthy" };

export const NOTHING = { capacity: {}, allocatable: {}, removed: [], recorded: false };
export const gpus = (capacity: number, allocatable: number) => ({
  capacity: { [GPU]: capacity },
  allocatable: { [GPU]: allocatable },
  removed: [],
  recorded: true,
});
export const gone = () => ({ capacity: {}, allocatable: {}, removed: [GPU], recorded: true });

/** Reads the shim's devices until they match, because a plugin's answer takes a while. */
export const told = (shim: DeviceManager) => eventually(() => shim.read());

/** Returns a registered plugin, once its three devices are counted. */
export async function registered(
  folder: string,
  shim: DeviceManager,
  endpoint = "gpu.sock",
): Promise<VendorPlugin> {
  const plugin = await vendorPlugin(folder, endpoint);
  plugin.list(TWO_AND_ONE);
  expect(await plugin.register(GPU)).toBeNull();
  await told(shim).toEqual(gpus(3, 2));
  return plugin;
}
