// Changes of a fleet for a command line in a test's own process: it looks again after each pause, and follows no feed.
import type { FleetChanges } from "../../../infra/operator/fleet/fleet-changes.ts";

const LOOK_EVERY_MS = 2000;

/** `pause` is typically a timer. */
export const polledChanges = (pause: (ms: number) => Promise<void>): FleetChanges => ({
  next: (mostMs) => pause(Math.min(mostMs, LOOK_EVERY_MS)),
  end: () => undefined,
});
