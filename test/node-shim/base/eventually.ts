// Waits for the effect of a socket, a process or a promise without a clock: only the runner's timeout ends the wait.
import { expect } from "vitest";

const PATIENCE_MS = 100_000;

/** Like expect.poll, but without a time limit of its own. With a fake clock, polling passes the interval. */
export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: PATIENCE_MS, interval: 0 });
