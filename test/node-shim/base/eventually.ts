// Waits for the effect of a socket, a process or a promise without a clock. Only the runner's timeout ends the
// wait.
import { expect } from "vitest";

const PATIENCE_MS = 100_000;

/**
 * Polls `look` like expect.poll, but without a time limit of its own. With a fake clock, polling advances the clock
 * by the interval.
 */
export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: PATIENCE_MS, interval: 0 });
