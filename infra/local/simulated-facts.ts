// The facts of a machine that does not exist: plausible, and the same at every call.
import { createHash } from "node:crypto";
import { wallMs } from "../../node-shim/base/clock.ts";
import type { Configuration } from "../../node-shim/config/config.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import type { SimulatedFault } from "./simulated-faults.ts";

const GIB = 2 ** 30;
const BOOT = wallMs();

/** A hex ID that the seed decides. */
const idOf = (seed: string) => createHash("sha256").update(seed).digest("hex").slice(0, 32);

const sizeOf = (index: number) => ({
  cores: [2, 4, 8, 16][index % 4] as number,
  memoryBytes: ([4, 8, 16, 64][index % 4] as number) * GIB,
});

/** How a machine differs from when all was well with it. */
export interface SimulatedChange {
  /** How often it has booted since the start; -1: a copy of it. */
  boots: number;
  fault: SimulatedFault | undefined;
}
const UNCHANGED: SimulatedChange = { boots: 0, fault: undefined };

export function simulatedFacts(
  index: number,
  configuration: Configuration,
  { boots, fault }: SimulatedChange = UNCHANGED,
): Facts {
  const ip = `10.${100 + Math.floor(index / 62_500)}.${Math.floor(index / 250) % 250}.${(index % 250) + 1}`;
  return {
    settings: {
      hostname: `sim-${index}`,
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

/** Memory wanders within its half; under pressure little is left. */
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
