// Starts device plugins as processes of their own, and a shim's device manager beside them.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type DeviceManager, startDeviceManager } from "../../../../node-shim/sources/devices/manager.ts";
import type { Order, Told } from "./plugin-process.ts";

export interface PluginProcess {
  /** What the shim answers: null, or the error's text. */
  register: (resourceName: string, more?: { endpoint?: string; version?: string }) => Promise<string | null>;
  /** Health by ID. */
  list: (devices: Record<string, string>) => void;
  /** Ends its streams with OK. */
  end: () => void;
  kill: () => Promise<void>;
}

/** Listens on `<folder>/<endpoint>` when this resolves. */
export async function pluginProcess(folder: string, endpoint: string): Promise<PluginProcess> {
  const child = fork(join(import.meta.dirname, "plugin-process.ts"), [folder, endpoint], { execArgv: [] });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  onTestFinished(kill);
  const tell = (order: Order) => child.send(order);
  const told = async () => ((await once(child, "message")) as [Told])[0].error;
  await told();
  return {
    register(resourceName, more = {}) {
      tell({ register: { resourceName, endpoint, version: "v1beta1", ...more } });
      return told();
    },
    list: (devices) => void tell({ devices: Object.entries(devices) }),
    end: () => void tell({ end: true }),
    kill,
  };
}

export interface Machine {
  /** Of the plugins. */
  folder: string;
  stateFolder: string;
  said: string[];
  /** The clock goes on by this. */
  pass: (ms: number) => void;
  /** A process of the shim; another one ends the one before. */
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
        // As long as the clock says: nothing here waits.
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

/** What the shim reads, once it reads it: a plugin's word takes its time. */
export const told = (shim: DeviceManager) =>
  expect.poll(() => shim.read(), { timeout: 20_000, interval: 20 });

/** A plugin whose three devices count. */
export async function registered(
  folder: string,
  shim: DeviceManager,
  endpoint = "gpu.sock",
): Promise<PluginProcess> {
  const plugin = await pluginProcess(folder, endpoint);
  plugin.list(TWO_AND_ONE);
  expect(await plugin.register(GPU)).toBeNull();
  await told(shim).toEqual(gpus(3, 2));
  return plugin;
}
