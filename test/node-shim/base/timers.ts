// The timers of the shim's code, where no clock is an argument: they ring when a test tells them to. For one test each.
import { onTestFinished, vi } from "vitest";

/** From now on no timer rings by itself; the result lets time pass. Sockets, and Node's own timers, are as always. */
export function heldTimers(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.advanceTimersByTime(ms);
}

/** From now on a wait of this many milliseconds or less is over at once. Longer timers, such as deadlines, are as always. */
export function withoutWaits(upToMs: number): void {
  const started = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (ring: () => void, ms = 0) => started(ring, ms > upToMs ? ms : 0));
  onTestFinished(() => void vi.unstubAllGlobals());
}
