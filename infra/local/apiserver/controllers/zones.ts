// How many of a zone's Nodes may be called unreachable, and how fast: pods are not evicted because the network is down.
// Mirrors nodelifecycle's handleDisruption. Writes nothing.
import type { NodeView } from "./node-view.ts";

export type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";

/** kube-controller-manager's defaults. */
const evictionsPerSecond = 0.1; // --node-eviction-rate
const secondaryEvictionsPerSecond = 0.01; // --secondary-node-eviction-rate
const largeZoneNodes = 50; // --large-cluster-size-threshold
const unhealthyThreshold = 0.55; // --unhealthy-zone-threshold

/** nodetopology.GetZoneKey; "" for Nodes without region and zone. */
export function zoneKeyOf({ labels }: NodeView): string {
  const label = (name: string) =>
    labels[`failure-domain.beta.kubernetes.io/${name}`] ?? labels[`topology.kubernetes.io/${name}`] ?? "";
  const region = label("region");
  const zone = label("zone");
  return region === "" && zone === "" ? "" : `${region}:\u0000:${zone}`;
}

/** ComputeZoneState: `ready` has the status of each Node's Ready condition. */
export function zoneStateOf(ready: readonly string[]): ZoneState {
  const unready = ready.filter((status) => status !== "True").length;
  if (unready > 0 && unready === ready.length) return "FullDisruption";
  const isPartial = unready > 2 && Math.fround(unready / ready.length) >= Math.fround(unhealthyThreshold);
  return isPartial ? "PartialDisruption" : "Normal";
}

/** Nodes tainted per second in a zone of this state and size (setLimiterInZone). */
export function evictionRate(state: ZoneState, nodes: number): number {
  if (state !== "PartialDisruption") return evictionsPerSecond;
  return nodes > largeZoneNodes ? secondaryEvictionsPerSecond : 0;
}

/**
 * What a look at all zones leads to: nothing is changed while all stay dark; `darken` stops all evictions, since it is
 * rather the network or we; `brighten` gives every Node a new chance; otherwise each zone for itself.
 */
export type Disruption = "none" | "darken" | "brighten" | "each zone";

export function judgeDisruption(
  before: ReadonlyMap<string, ZoneState>,
  after: ReadonlyMap<string, ZoneState>,
): Disruption {
  const isDark = [...after.values()].every((state) => state === "FullDisruption");
  const wasDark = [...before].every(([zone, state]) => !after.has(zone) || state === "FullDisruption");
  if (isDark) return wasDark ? "none" : "darken";
  return wasDark ? "brighten" : "each zone";
}
