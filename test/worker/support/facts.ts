// Defines the facts of a machine in the tests.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";

const GIB = 2 ** 30;

export function facts(name: string, more: Partial<Facts> = {}): Facts {
  return {
    settings: {
      hostname: name,
      nodeStatusUpdateFrequencyMs: 10_000,
      nodeStatusReportFrequencyMs: 300_000,
      nodeLeaseDurationSeconds: 40,
      registerWithTaints: null,
      maxPods: 110,
    },
    platform: { os: "linux", architecture: "amd64" },
    runningInUserNamespace: false,
    machine: {
      machineID: "m-1",
      systemUUID: "s-1",
      bootID: "b-1",
      cores: 4,
      memoryBytes: 8 * GIB,
      swapBytes: 0,
      hugePages: [{ pageSizeKiB: 2048, pages: 0 }],
    },
    versions: { kernel: "6.1.0", osImage: "Test Linux" },
    runtime: null,
    addresses: { nodeIPs: [], lookup: [], onInterface: [], defaultRoute: { ipv4: "10.0.0.5" } },
    storage: { nodefsCapacityBytes: 100 * GIB },
    ...more,
  };
}

/** Returns the facts of a machine whose Node runs pods and has no taint. Its join token must allow that. */
export function factsForPods(name: string, more: Partial<Facts> = {}): Facts {
  const plain = facts(name, more);
  return { ...plain, settings: { ...plain.settings, registerWithTaints: [] } };
}

export const HEALTHY: Vitals = {
  signals: {
    "memory.available": [4 * GIB, 8 * GIB],
    "nodefs.available": [50 * GIB, 100 * GIB],
    "pid.available": [30_000, 32_768],
  },
};
