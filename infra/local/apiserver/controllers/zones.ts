// How fast the Nodes of a zone get their NoExecute taint: slower or not at all where many are unreachable, since a broken
// network must not evict pods. Mirrors nodelifecycle's handleDisruption and scheduler.RateLimitedTimedQueue. Pure.
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
 * What a look at all zones leads to: nothing is changed while all stay dark; `darken` stops all evictions, since it is
 * rather the network or we; `brighten` gives every Node a new chance; otherwise each zone for itself.
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
  /** One that was tainted is not taken again until it has been removed. */
  add: (name: string) => void;
  remove: (name: string) => void;
  /** The next Node, if there is one and the rate allows it. */
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
      // The next Node waits as long as it would have.
      if (!isFree) take(nowMs);
    },
  };
}
