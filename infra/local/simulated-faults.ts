// What is wrong with which simulated machine, as a file says: it is read again whenever it changes, so that a fleet can be
// broken and mended while it runs.
import { readFileSync, statSync } from "node:fs";
import { every } from "../../node-shim/base/clock.ts";
import * as z from "zod/mini";

export const SIMULATED_FAULTS = [
  /** Its processes end. Mended, it starts again with another boot ID. */
  "down",
  /** It goes on, and reaches nobody. */
  "cut off",
  /** Under memory pressure. */
  "memory pressure",
  /** Its container runtime has an error. */
  "not ready",
  /** A copy of its disk reports with its key. */
  "cloned",
  /** It may not create its Node: it counts where that is so from its first report on. */
  "waiting for Node",
  /** Another machine asks for its name. */
  "another asks",
] as const;
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number];

const faultsSchema = z.record(z.string(), z.enum(SIMULATED_FAULTS));

export interface SimulatedFaults {
  /** undefined: all is well with it. */
  of: (name: string) => SimulatedFault | undefined;
  /** Resolves once it is so, or `stop` is aborted. */
  until: (isSo: () => boolean, stop: AbortSignal) => Promise<void>;
}

/** How often the file is looked at. */
const LOOK_MS = 200;

/**
 * The faults of a file: `{"sim-1": "down"}`. Without the file all is well. What cannot be read is logged, and what was read
 * last stays. Looks until `stop` is aborted.
 */
export function simulatedFaults(
  file: string,
  stop: AbortSignal,
  log: (line: string) => void, // typically console.log
  repeat: (ms: number, look: () => void) => () => void = every,
): SimulatedFaults {
  let faults: Partial<Record<string, SimulatedFault>> = {};
  let seen: string | undefined;
  let changed = Promise.withResolvers<void>();
  const look = () => {
    const version = versionOf(file);
    if (version === seen) return;
    seen = version;
    try {
      faults = version === undefined ? {} : faultsSchema.parse(JSON.parse(readFileSync(file, "utf8")));
      log(`${file}: ${Object.keys(faults).length} machines have a fault`);
    } catch {
      log(`${file} is no JSON object of names and faults: ${SIMULATED_FAULTS.join(", ")}`);
    }
    tell();
  };
  const tell = () => {
    const { resolve } = changed;
    changed = Promise.withResolvers<void>();
    resolve();
  };
  look();
  stop.addEventListener("abort", repeat(LOOK_MS, look));
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

/** undefined: there is none. */
function versionOf(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.mtimeNs} ${stat.size} ${stat.ino}`;
}
