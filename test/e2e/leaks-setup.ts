// Runs around all e2e tests. At their end, no log may contain a secret of the run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { leaksOf } from "./leaks.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder that collects the secrets and logs of this run. */
    runRecord?: string;
  }
}

/**
 * Starts the record of secrets and logs. Returns a function that ends the run, and throws if a log contains a
 * secret.
 */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-run-"));
  project.provide("runRecord", folder);
  return () => {
    const leaks = leaksOf(folder);
    rmSync(folder, { recursive: true });
    if (leaks.length > 0) throw new Error(leaks.join("\n"));
  };
}
