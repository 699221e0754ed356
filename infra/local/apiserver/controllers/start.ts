// Starts the controllers that Nodes need, and deletes events after an hour, like kube-apiserver's --event-ttl.
import type { ApiObject } from "../object.ts";
import { startGarbageCollector, startNamespaceContents } from "./garbage-collector.ts";
import { type NodeLifecycleSettings, startNodeLifecycle } from "./node-lifecycle.ts";
import { type ControllerOptions, createWorld, type World } from "./world.ts";

interface Controllers {
  /** Resolves when all queued tasks have ended. */
  idle: () => Promise<void>;
  /** Stops all controllers after the running task. */
  stop: () => Promise<void>;
}

export const defaultSettings: NodeLifecycleSettings = {
  monitorPeriodMs: 5_000,
  monitorGracePeriodMs: 50_000,
  startupGracePeriodMs: 60_000,
};

/** Starts all controllers. `report` is called with each error that a controller throws. */
export function startControllers(
  options: ControllerOptions,
  settings: NodeLifecycleSettings,
  report: (error: unknown) => void,
): Controllers {
  const world = createWorld(options, report);
  const ends = [
    startNodeLifecycle(world, settings),
    startGarbageCollector(world),
    startEventExpiry(world),
    startNamespaceContents(world),
  ];
  return {
    idle: world.tasks.idle,
    stop: async () => {
      for (const end of ends) end();
      await world.tasks.stop();
    },
  };
}

/** Milliseconds from an event's last write until it is deleted (--event-ttl). */
export const eventTtlMs = 3_600_000;
const sweepPeriodMs = 10_000;

function lastWriteMs({ metadata }: ApiObject): number {
  const times = (metadata.managedFields ?? []).map(({ time = "" }) => Date.parse(time));
  return Math.max(Date.parse(metadata.creationTimestamp ?? ""), ...times.filter(Number.isFinite));
}

/** Starts deleting expired events. Returns a function that stops it. */
export function startEventExpiry({ store, send, tasks, now, every }: World): () => void {
  /** The expiry of each event by path, in milliseconds since 1970, earliest first: a write moves its event last. */
  const expiries = new Map<string, number>();

  const pathOf = ({ metadata: { namespace = "", name = "" } }: ApiObject) =>
    `/api/v1/namespaces/${namespace}/events/${encodeURIComponent(name)}`;

  async function sweep(): Promise<void> {
    for (const [path, expiresAtMs] of expiries) {
      if (expiresAtMs > now().getTime()) return;
      expiries.delete(path);
      await send({ method: "DELETE", path });
    }
  }

  const events = store.list("events").map((event) => [pathOf(event), lastWriteMs(event)] as const);
  for (const [path, writtenMs] of events.sort(([, left], [, right]) => left - right))
    expiries.set(path, writtenMs + eventTtlMs);
  const ends = [
    store.subscribe(({ type, resource, object }) => {
      if (resource !== "events") return;
      expiries.delete(pathOf(object));
      if (type !== "DELETED") expiries.set(pathOf(object), now().getTime() + eventTtlMs);
    }),
    every(sweepPeriodMs, () => tasks.add("sweep events", sweep)),
  ];
  return () => {
    for (const end of ends) end();
  };
}
