// Before each file of every suite, on Node and in workerd: the seed of properties, and how slow real timers are.
// vitest.config.ts chooses both.
import * as fc from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    seed: number;
    /** Real timers ring this many times later, as on a slow computer. 1 but in a run that shows that no outcome depends on it. */
    slowness: number;
  }
}

fc.configureGlobal({ seed: inject("seed") });

const SLOWED = Symbol.for("rollcall.slowed");
const slowness = inject("slowness");
const timers = globalThis as unknown as Record<string | symbol, (...args: unknown[]) => unknown>;
// Files share a process: the timers are slowed once.
if (slowness !== 1 && !timers[SLOWED]) {
  for (const name of ["setTimeout", "setInterval"]) {
    const real = timers[name]!;
    timers[name] = (ring, ms, ...rest) => real(ring, Number(ms ?? 0) * slowness, ...rest);
  }
  timers[SLOWED] = () => undefined;
}
