// Timers of code that takes no clock as an argument: a test lets them ring. For one test each.
import { onTestFinished, vi } from "vitest";

/** From now on no timer rings by itself; the result lets time pass. Sockets, and Node's own timers, work as usual. */
export function heldTimers(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.advanceTimersByTime(ms);
}

/** From now on waits of at most this many milliseconds end at once. Longer timers, such as deadlines, work as usual. */
export function withoutWaits(upToMs: number): void {
  const started = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (ring: () => void, ms = 0) => started(ring, ms > upToMs ? ms : 0));
  onTestFinished(() => void vi.unstubAllGlobals());
}
