// Around the whole run of the e2e tests: at its end, no log may contain a secret of the run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { leaksOf } from "./leaks.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of this run's record. */
    runRecord?: string;
  }
}

/** Returns a function that ends the run; a leak fails it. */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-run-"));
  project.provide("runRecord", folder);
  return () => {
    const leaks = leaksOf(folder);
    rmSync(folder, { recursive: true });
    if (leaks.length > 0) throw new Error(leaks.join("\n"));
  };
}
