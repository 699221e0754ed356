// Defines the machines whose traffic is measured: their facts, their intervals, and the time after which a network cuts
// idle connections.
import { fileURLToPath } from "node:url";
import { readConfiguration } from "../../../../node-shim/config/config.ts";
import type { Facts } from "../../../../shared/protocol/facts.ts";
import { asReceived, machineFacts, NAME } from "../machine.ts";

export interface Profile {
  name: string;
  facts: () => Facts;
  hours: number;
  /** Milliseconds after which an idle connection is cut, as by a router. Absent: never. */
  cutAfterMs?: number;
}

const LOW_TRAFFIC = fileURLToPath(new URL("../../../../examples/low-traffic.yaml", import.meta.url));

/** Returns the facts of a shim with the file LOW_TRAFFIC: no runtime, hence no images. */
function lowTrafficFacts(changed: Partial<Facts["settings"]> = {}): Facts {
  const { configuration } = readConfiguration(LOW_TRAFFIC, {});
  const { platform, machine, versions, addresses, storage, volumes } = machineFacts();
  const settings = { hostname: NAME, ...configuration, ...changed };
  return asReceived({ settings, platform, machine, versions, addresses, storage, volumes, runtime: null });
}

const every30s = { nodeStatusUpdateFrequencyMs: 30_000, nodeLeaseDurationSeconds: 120 };

/** The profile of the fleets whose bill is computed. */
export const DEFAULT_PROFILE = "every 10 s, 60 images";
export const LOW_TRAFFIC_PROFILE = "low-traffic.yaml (5 min)";

export const PROFILES: readonly Profile[] = [
  { name: "every 30 s, no images", facts: () => lowTrafficFacts(every30s), hours: 0.5 },
  { name: LOW_TRAFFIC_PROFILE, facts: lowTrafficFacts, hours: 2 },
  { name: "the same, idle ones cut", facts: lowTrafficFacts, hours: 2, cutAfterMs: 60_000 },
];
