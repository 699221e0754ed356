// Invents plausible, constant facts of a simulated machine, and reads the machines' faults from a file. The file is
// read again after each change, so that a running fleet can be broken and repaired.
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import * as z from "zod/mini";
import { every, wallMs } from "../../node-shim/base/clock.ts";
import type { Configuration } from "../../node-shim/config/config.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";

export const SIMULATED_FAULTS = [
  /** The machine's processes end. Without the fault the machine starts again, with another boot ID. */
  "down",
  /** The machine runs, but cannot reach the Worker. */
  "cut off",
  /** The machine is under memory pressure. */
  "memory pressure",
  /** The machine's container runtime has an error. */
  "not ready",
  /** A copy of the machine's disk reports with its key. */
  "cloned",
  /** The machine's configuration forbids a Node (registerNode: false). Takes effect only before the first report. */
  "waiting for Node",
  /** Another machine asks for the machine's name. */
  "another asks",
] as const;
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number];

const faultsSchema = z.record(z.string(), z.enum(SIMULATED_FAULTS));

export interface SimulatedFaults {
  /** Returns the fault of a machine, or undefined if it has none. */
  of: (name: string) => SimulatedFault | undefined;
  /** Resolves when `isSo` is true or `stop` is aborted. */
  until: (isSo: () => boolean, stop: AbortSignal) => Promise<void>;
}

/** Milliseconds between two checks of the file. */
const CHECK_MS = 200;

/**
 * Reads the machines' faults from a file like `{"sim-1": "down"}`, until `stop` is aborted. Without the file no
 * machine has a fault. A file that cannot be read is logged, and the last faults stay.
 */
export function simulatedFaults(
  file: string,
  stop: AbortSignal,
  log: (line: string) => void, // typically console.log
  repeat: (ms: number, check: () => void) => () => void = every,
): SimulatedFaults {
  let faults: Partial<Record<string, SimulatedFault>> = {};
  let seen: string | undefined;
  let changed = Promise.withResolvers<void>();
  const check = () => {
    const version = versionOf(file);
    if (version === seen) return;
    seen = version;
    try {
      faults = version === undefined ? {} : faultsSchema.parse(JSON.parse(readFileSync(file, "utf8")));
      log(`${file}: ${Object.keys(faults).length} machines have a fault`);
    } catch {
      log(`${file} is no JSON object of names and faults: ${SIMULATED_FAULTS.join(", ")}`);
    }
    const { resolve } = changed;
    changed = Promise.withResolvers<void>();
    resolve();
  };
  check();
  stop.addEventListener("abort", repeat(CHECK_MS, check));
  return {
    of: (name) => faults[name],
    async until(isSo, ends) {
      const ended = new Promise<void>((resolve) =>
        ends.addEventListener("abort", () => resolve(), { once: true }),
      );
      while (!isSo() && !ends.aborted) await Promise.race([changed.promise, ended]);
    },
  };
}

/** Returns a text that changes with each version of the file, or undefined if the file does not exist. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.mtimeNs} ${stat.size} ${stat.ino}`;
}

const GIB = 2 ** 30;
const BOOT = wallMs();

/** Returns a hex ID that depends only on the seed. */
const idOf = (seed: string) => createHash("sha256").update(seed).digest("hex").slice(0, 32);

const sizeOf = (index: number) => ({
  cores: [2, 4, 8, 16][index % 4] as number,
  memoryBytes: ([4, 8, 16, 64][index % 4] as number) * GIB,
});

/** Returns the facts of the machine `name`. `boots` is the number of boots since the process started, or -1 for a copy. */
export function simulatedFacts(
  index: number,
  configuration: Configuration,
  {
    boots = 0,
    fault,
    name = `sim-${index}`,
  }: { boots?: number; fault?: SimulatedFault | undefined; name?: string } = {},
): Facts {
  const ip = `10.${100 + Math.floor(index / 62_500)}.${Math.floor(index / 250) % 250}.${(index % 250) + 1}`;
  return {
    settings: {
      hostname: name,
      ...configuration,
      ...(fault === "waiting for Node" && { registerNode: false }),
    },
    platform: { os: "linux", architecture: "amd64" },
    machine: {
      machineID: idOf(`machine ${index}`),
      systemUUID: idOf(`system ${index}`),
      bootID: idOf(`boot ${index} ${BOOT} ${boots}`),
      ...sizeOf(index),
      swapBytes: 0,
      hugePages: [{ pageSizeKiB: 2048, pages: 0 }],
    },
    versions: { kernel: "6.1.0-simulated", osImage: "Simulated Linux" },
    runtime: null,
    addresses: { nodeIPs: [], lookup: [], onInterface: [], defaultRoute: { ipv4: ip } },
    storage: { nodefsCapacityBytes: 100 * GIB },
  };
}

/** Returns vitals with at least half of the memory available at random, or little under memory pressure. */
export function simulatedVitals(index: number, fault?: SimulatedFault): Vitals {
  const { memoryBytes } = sizeOf(index);
  const available = Math.floor(memoryBytes * (0.5 + Math.random() / 2));
  return {
    signals: {
      "memory.available": [fault === "memory pressure" ? 2 ** 20 : available, memoryBytes],
      "nodefs.available": [60 * GIB, 100 * GIB],
      "nodefs.inodesFree": [6_000_000, 6_500_000],
      "pid.available": [30_000, 32_768],
    },
    ...(fault === "not ready" && { errors: { runtime: ["container runtime is down"] } }),
  };
}
