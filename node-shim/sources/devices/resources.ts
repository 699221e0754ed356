// Counts this machine's plugin devices as upstream's devicemanager.ManagerImpl does, but without allocation.
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { HEALTHY } from "./api.ts";

/** Milliseconds for which the devices of a stopped plugin count as unhealthy: upstream endpointStopGracePeriod. */
export const STOP_GRACE_MS = 5 * 60_000;

/** The names of the resources, which are kept when the process ends, as in upstream's checkpoint. */
export interface KnownResources {
  /** The resources whose plugin is connected, or has been lost for less than STOP_GRACE_MS. */
  registered: readonly string[];
  /** The resources that are 0 in the Node until their plugin registers again. */
  removed: readonly string[];
}

interface Resource {
  /** false until the plugin has sent its first list. Without a list, the Node does not change. */
  announced: boolean;
  healthy: number;
  unhealthy: number;
  /** The number of distinct device IDs. */
  distinct: number;
  /** The time when the connection to the plugin was lost; null while it is connected. */
  stoppedAtMs: number | null;
}

const NONE = { announced: false, healthy: 0, unhealthy: 0, distinct: 0 };

export interface DeviceResources {
  hasRoomFor: (resource: string) => boolean;
  connected: (resource: string) => void;
  listed: (resource: string, devices: readonly { ID: string; health: string }[]) => void;
  lost: (resource: string) => void;
  /** Returns each resource's amounts (upstream GetCapacity). `removed` stays: the Worker may have missed a report. */
  counts: () => Omit<NonNullable<Facts["devices"]>, "recorded">;
  known: () => KnownResources;
}

/** Makes the counter. As in upstream readCheckpoint, an earlier run's resource is 0 until its plugin registers. */
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

/** Counts the devices of a list. As in upstream, an ID with two entries can count as healthy and as unhealthy. */
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
  // Above the limit, the oldest removed resources are forgotten. In the Node they stay 0.
  for (const name of removed) {
    if (removed.size > FACTS_LIMITS.extendedResources) removed.delete(name);
  }
}
