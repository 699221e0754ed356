// The rate of NoExecute taints in a zone. It is lower, or 0, if many Nodes are unreachable: a broken network must not evict
// pods. Mirrors nodelifecycle's handleDisruption and scheduler.RateLimitedTimedQueue.
import { type TokenBucket, tryAccept } from "../../../../shared/events/token-bucket.ts";
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
 * A zone is dark while no Node in it is Ready. `none`: all zones stay dark. `darken`: all have become dark, which stops
 * evictions. `brighten`: one is no longer dark, and each Node gets a new grace period. `each zone`: rates by zone.
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
  /** Adds a Node, unless it was added before and not removed since. */
  add: (name: string) => void;
  remove: (name: string) => void;
  /** Takes the next Node; undefined if there is none, or the rate does not allow one. */
  next: (nowMs: number) => string | undefined;
  isEmpty: () => boolean;
  /** Nodes per second; 0 stops it. */
  setRate: (perSecond: number, nowMs: number) => void;
}

/** scheduler.EvictionRateLimiterBurst */
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
      // A Node that had to wait for the former rate waits for the new one too.
      if (!isFree) take(nowMs);
    },
  };
}
