// Counts the devices that this machine's device plugins announce, as upstream's devicemanager.ManagerImpl does without
// allocation.
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { HEALTHY } from "./api.ts";

/** Upstream endpointStopGracePeriod: after a plugin stops, its devices count as unhealthy for this time. */
export const STOP_GRACE_MS = 5 * 60_000;

/** The resources' names, which outlive the process, as in upstream's checkpoint. */
export interface KnownResources {
  /** Resources with a plugin, or whose plugin has been gone for less than the grace period. */
  registered: readonly string[];
  /** Resources that are 0 in the Node until their plugin comes back. */
  removed: readonly string[];
}

interface Resource {
  /** False until the plugin has sent its first list. The Node does not change before. */
  announced: boolean;
  healthy: number;
  unhealthy: number;
  /** The number of distinct IDs. All devices of a lost plugin are unhealthy. */
  distinct: number;
  /** The time of the plugin's loss; null while it is connected. */
  stoppedAtMs: number | null;
}

const NONE = { announced: false, healthy: 0, unhealthy: 0, distinct: 0 };

export interface DeviceResources {
  hasRoomFor: (resource: string) => boolean;
  connected: (resource: string) => void;
  listed: (resource: string, devices: readonly { ID: string; health: string }[]) => void;
  lost: (resource: string) => void;
  /** Upstream GetCapacity. A removed resource stays in `removed`, since the Worker may have missed it. */
  counts: () => Omit<NonNullable<Facts["devices"]>, "recorded">;
  known: () => KnownResources;
}

/** Upstream readCheckpoint: a resource of an earlier run is 0 until its plugin registers again. */
export function deviceResources(
  before: KnownResources,
  nowMs: () => number, // monotonic: typically monotonicMs
): DeviceResources {
  const resources = new Map(before.registered.map((name) => [name, stopped(0, nowMs())]));
  const removed = new Set(before.removed);
  const announced = () => [...resources].filter(([, resource]) => resource.announced);
  const each = (count: (resource: Resource) => number) =>
    Object.fromEntries(announced().map(([name, resource]) => [name, count(resource)]));

  return {
    hasRoomFor: (name) => resources.has(name) || resources.size < FACTS_LIMITS.extendedResources,
    connected(name) {
      resources.set(name, { ...(resources.get(name) ?? NONE), stoppedAtMs: null });
      removed.delete(name);
    },
    listed(name, devices) {
      const { stoppedAtMs = null } = resources.get(name) ?? {};
      resources.set(name, { ...counted(devices), stoppedAtMs });
    },
    lost(name) {
      const resource = resources.get(name);
      if (resource) resources.set(name, stopped(resource.distinct, nowMs()));
    },
    counts() {
      expire(resources, removed, nowMs());
      return {
        capacity: each(({ healthy, unhealthy }) => healthy + unhealthy),
        allocatable: each(({ healthy }) => healthy),
        removed: [...removed],
      };
    },
    known: () => ({ registered: announced().map(([name]) => name), removed: [...removed] }),
  };
}

function stopped(distinct: number, stoppedAtMs: number): Resource {
  return { announced: true, healthy: 0, unhealthy: distinct, distinct, stoppedAtMs };
}

/** Upstream keeps a set of IDs for each health. */
function counted(devices: readonly { ID: string; health: string }[]): Omit<Resource, "stoppedAtMs"> {
  const ids = (wanted: boolean) =>
    new Set(devices.flatMap(({ ID, health }) => ((health === HEALTHY) === wanted ? ID : [])));
  const [healthy, unhealthy] = [ids(true), ids(false)];
  const distinct = new Set([...healthy, ...unhealthy]).size;
  return { announced: true, healthy: healthy.size, unhealthy: unhealthy.size, distinct };
}

function expire(resources: Map<string, Resource>, removed: Set<string>, nowMs: number): void {
  for (const [name, { stoppedAtMs }] of resources) {
    if (stoppedAtMs === null || nowMs - stoppedAtMs <= STOP_GRACE_MS) continue;
    resources.delete(name);
    removed.add(name);
  }
  // Above the limit the oldest removed resources are forgotten; their amounts in the Node stay 0.
  for (const name of removed) {
    if (removed.size > FACTS_LIMITS.extendedResources) removed.delete(name);
  }
}
