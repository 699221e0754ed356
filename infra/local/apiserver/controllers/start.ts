// The controllers that a user of Nodes would miss, with kube-controller-manager's defaults.
import { startEventExpiry } from "./event-expiry.ts";
import { startGarbageCollector } from "./garbage-collector.ts";
import { startNamespaceContents } from "./namespace-contents.ts";
import { type NodeLifecycleSettings, startNodeLifecycle } from "./node-lifecycle.ts";
import { type ControllerOptions, createWorld } from "./world.ts";

export interface Controllers {
  /** Resolves when there is nothing left to do until something changes or time passes. */
  idle: () => Promise<void>;
  /** Begins nothing any more, and ends what is under way. */
  stop: () => Promise<void>;
}

export const defaultSettings: NodeLifecycleSettings = {
  monitorPeriodMs: 5_000,
  monitorGracePeriodMs: 50_000,
  startupGracePeriodMs: 60_000,
};

/** `report` is called with what should not happen: the error of a controller that threw. */
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
