// Makes a command that waits for changes of the fleet poll instead: these tests have no feed.
import type { FleetChanges } from "../../../infra/operator/feed-client.ts";

/** The milliseconds between two requests. */
const POLL_MS = 2000;

/** Returns changes that are found only by polling. `pause` is typically a timer of the test. */
export const polledChanges = (pause: (ms: number) => Promise<void>): FleetChanges => ({
  next: (mostMs) => pause(Math.min(mostMs, POLL_MS)),
  end: () => undefined,
});
