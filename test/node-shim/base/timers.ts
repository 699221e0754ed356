// Replaces the timers of code that takes no clock as an argument. The real timers return when the test ends.
import { onTestFinished, vi } from "vitest";

/**
 * Stops all timers from now on. Returns a function that lets time pass. Sockets, and Node.js's own timers, work as
 * usual.
 */
export function heldTimers(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.advanceTimersByTime(ms);
}

/** Ends each wait of at most `upToMs` at once from now on. Longer timers, such as deadlines, work as usual. */
export function withoutWaits(upToMs: number): void {
  const started = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (ring: () => void, ms = 0) => started(ring, ms > upToMs ? ms : 0));
  onTestFinished(() => void vi.unstubAllGlobals());
}
