// Waits for what other processes or the network bring about, on machines that are busy.
import { expect } from "vitest";

/** As expect.poll, with more patience. */
export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 20_000, interval: 5 });
