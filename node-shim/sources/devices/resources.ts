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
  /** null until a plugin has sent a list. */
  healthy: number | null;
  /** null until a plugin has sent a list, or was lost. */
  unhealthy: number | null;
  /** The number of distinct device IDs. */
  distinct: number;
  /** The time when the connection to the plugin was lost; null while it is connected. */
  stoppedAtMs: number | null;
}

const NONE: Resource = { healthy: null, unhealthy: null, distinct: 0, stoppedAtMs: null };

export interface DeviceResources {
  hasRoomFor: (resource: string) => boolean;
  /** Notes a plugin of the resource at this socket. */
  connected: (resource: string, socket: string) => void;
  /** Counts the devices of a list. The last list of any plugin of the resource counts. */
  listed: (resource: string, devices: readonly { ID: string; health: string }[]) => void;
  /**
   * Notes that the connection to a plugin is lost. Returns true if it was the resource's last plugin. Until then the
   * devices stay healthy, as from Kubernetes 1.37 on.
   */
  lost: (resource: string, socket: string) => boolean;
  /** Returns each resource's amounts (upstream GetCapacity). `removed` stays: the Worker may have missed a report. */
  counts: () => Omit<NonNullable<Facts["devices"]>, "recorded">;
  known: () => KnownResources;
}

/** Makes the counter. As in upstream readCheckpoint, an earlier run's resource is 0 until its plugin registers. */
export function deviceResources(
  before: KnownResources,
  nowMs: () => number, // monotonic: typically monotonicMs
): DeviceResources {
  const empty = () => stopped({ ...NONE, healthy: 0 }, nowMs());
  const resources = new Map(before.registered.map((name) => [name, empty()]));
  const removed = new Set(before.removed);
  /** The sockets of the connected plugins, by the resource. */
  const plugins = new Map<string, Set<string>>();
  const each = (count: (resource: Resource) => number | null) =>
    Object.fromEntries(
      [...resources].flatMap(([name, resource]) => {
        const counted = count(resource);
        return counted === null ? [] : [[name, counted]];
      }),
    );

  return {
    hasRoomFor: (name) => resources.has(name) || resources.size < FACTS_LIMITS.extendedResources,
    connected(name, socket) {
      resources.set(name, { ...(resources.get(name) ?? NONE), stoppedAtMs: null });
      plugins.set(name, (plugins.get(name) ?? new Set()).add(socket));
      removed.delete(name);
    },
    listed(name, devices) {
      const { stoppedAtMs = null } = resources.get(name) ?? {};
      resources.set(name, { ...counted(devices), stoppedAtMs });
    },
    lost(name, socket) {
      const sockets = plugins.get(name);
      if (!sockets?.delete(socket) || sockets.size > 0) return false;
      plugins.delete(name);
      resources.set(name, stopped(resources.get(name) ?? NONE, nowMs()));
      return true;
    },
    counts() {
      expire(resources, removed, nowMs());
      return {
        capacity: each(({ healthy, unhealthy }) => (unhealthy === null ? null : (healthy ?? 0) + unhealthy)),
        allocatable: each(({ healthy }) => healthy),
        removed: [...removed],
      };
    },
    known: () => ({ registered: Object.keys(each(({ healthy }) => healthy)), removed: [...removed] }),
  };
}

function stopped({ healthy, distinct }: Resource, stoppedAtMs: number): Resource {
  return { healthy: healthy === null ? null : 0, unhealthy: distinct, distinct, stoppedAtMs };
}

/** Counts the devices of a list. As in upstream, an ID with two entries can count as healthy and as unhealthy. */
function counted(devices: readonly { ID: string; health: string }[]): Omit<Resource, "stoppedAtMs"> {
  const ids = (wanted: boolean) =>
    new Set(devices.flatMap(({ ID, health }) => ((health === HEALTHY) === wanted ? ID : [])));
  const [healthy, unhealthy] = [ids(true), ids(false)];
  const distinct = new Set([...healthy, ...unhealthy]).size;
  return { healthy: healthy.size, unhealthy: unhealthy.size, distinct };
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
