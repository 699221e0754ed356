// Gives every property of fast-check the seed of the run, on Node and in workerd. vitest.config.ts chooses the seed.
import * as fc from "fast-check";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    seed: number;
  }
}

fc.configureGlobal({ seed: inject("seed") });
