// Sets the rate of NoExecute taints in a zone. The rate falls, or is 0, if many Nodes are unreachable: a broken
// network must not evict pods. Mirrors nodelifecycle's handleDisruption and scheduler.RateLimitedTimedQueue.
import { type TokenBucket, tryAccept } from "../../../../shared/events/token-bucket.ts";
import type { NodeView } from "./node-view.ts";

export type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption";

/** The defaults of kube-controller-manager. */
const evictionsPerSecond = 0.1; // --node-eviction-rate
const secondaryEvictionsPerSecond = 0.01; // --secondary-node-eviction-rate
const largeZoneNodes = 50; // --large-cluster-size-threshold
const unhealthyThreshold = 0.55; // --unhealthy-zone-threshold

/** Returns the key of a Node's zone, or "" for a Node without region and zone. Mirrors nodetopology.GetZoneKey. */
export function zoneKeyOf({ labels }: NodeView): string {
  const label = (name: string) =>
    labels[`failure-domain.beta.kubernetes.io/${name}`] ?? labels[`topology.kubernetes.io/${name}`] ?? "";
  const region = label("region");
  const zone = label("zone");
  return region === "" && zone === "" ? "" : `${region}:\u0000:${zone}`;
}

/** Returns a zone's state from the status of its Nodes' Ready conditions. Mirrors ComputeZoneState. */
export function zoneStateOf(ready: readonly string[]): ZoneState {
  const unready = ready.filter((status) => status !== "True").length;
  if (unready > 0 && unready === ready.length) return "FullDisruption";
  const isPartial = unready > 2 && Math.fround(unready / ready.length) >= Math.fround(unhealthyThreshold);
  return isPartial ? "PartialDisruption" : "Normal";
}

/** Returns the number of Nodes to taint per second in a zone of this state and size. Mirrors setLimiterInZone. */
export function evictionRate(state: ZoneState, nodes: number): number {
  if (state !== "PartialDisruption") return evictionsPerSecond;
  return nodes > largeZoneNodes ? secondaryEvictionsPerSecond : 0;
}

/**
 * The change of the zones between two passes. A zone is dark while no Node in it is Ready.
 * - `none`: all zones stay dark.
 * - `darken`: all zones have become dark, which stops evictions.
 * - `brighten`: a zone is no longer dark, and each Node gets a new grace period.
 * - `each zone`: some zones are not dark, so each zone has its own rate.
 */
type Disruption = "none" | "darken" | "brighten" | "each zone";

export function judgeDisruption(
  before: ReadonlyMap<string, ZoneState>,
  after: ReadonlyMap<string, ZoneState>,
): Disruption {
  const isDark = [...after.values()].every((state) => state === "FullDisruption");
  const wasDark = [...before].every(([zone, state]) => !after.has(zone) || state === "FullDisruption");
  if (isDark) return wasDark ? "none" : "darken";
  return wasDark ? "brighten" : "each zone";
}

export interface TaintQueue {
  /** Adds a Node, unless it has been added before and not removed since. */
  add: (name: string) => void;
  remove: (name: string) => void;
  /** Takes the next Node from the queue. Returns undefined if the queue is empty or the rate allows no Node yet. */
  next: (nowMs: number) => string | undefined;
  isEmpty: () => boolean;
  /** Sets the number of Nodes per second. 0 stops the queue. */
  setRate: (perSecond: number, nowMs: number) => void;
}

/** The number of Nodes that may be taken at once (scheduler.EvictionRateLimiterBurst). */
const burst = 1;

export function createTaintQueue(startRate: number): TaintQueue {
  const known = new Set<string>();
  const waiting = new Set<string>();
  let rate = startRate;
  let bucket: TokenBucket | undefined;

  function take(nowMs: number): boolean {
    const taken = rate > 0 ? tryAccept(bucket, nowMs * 1_000, burst, rate) : null;
    if (taken) bucket = taken;
    return taken !== null;
  }

  return {
    add: (name) => {
      if (!known.has(name)) waiting.add(name);
      known.add(name);
    },
    remove: (name) => {
      known.delete(name);
      waiting.delete(name);
    },
    next: (nowMs) => {
      const [name] = waiting;
      if (name === undefined || !take(nowMs)) return undefined;
      waiting.delete(name);
      return name;
    },
    isEmpty: () => waiting.size === 0,
    setRate: (perSecond, nowMs) => {
      if (perSecond === rate) return;
      const isFree = take(nowMs);
      rate = perSecond;
      bucket = undefined;
      // If the former rate allowed no Node yet, the first Node waits for the new rate too.
      if (!isFree) take(nowMs);
    },
  };
}
