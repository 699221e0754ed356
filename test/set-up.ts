// Runs before each file of every suite, on Node and in workerd: sets the seed of properties, and the slowness of
// real timers. vitest.config.ts chooses both.
import * as fc from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    seed: number;
    /**
     * The factor by which real timers ring later, as on a slow computer. It is 1, except in a run that proves that
     * no outcome depends on it.
     */
    slowness: number;
  }
}

fc.configureGlobal({ seed: inject("seed") });

const SLOWED = Symbol.for("rollcall.slowed");
const slowness = inject("slowness");
const timers = globalThis as unknown as Record<string | symbol, (...args: unknown[]) => unknown>;
// The timers are slowed only once, because test files share a process.
if (slowness !== 1 && !timers[SLOWED]) {
  for (const name of ["setTimeout", "setInterval"]) {
    const real = timers[name]!;
    timers[name] = (ring, ms, ...rest) => real(ring, Number(ms ?? 0) * slowness, ...rest);
  }
  timers[SLOWED] = () => undefined;
}
