// Waits for what a socket, a process or a promise brings about, by no clock: only the runner's patience ends it.
import { expect } from "vitest";

const PATIENCE_MS = 100_000;

/** As expect.poll, but without a time within which it must be so. A fake clock stands still: the interval is what it passes. */
export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: PATIENCE_MS, interval: 0 });
