// Returns the record of the run that a test belongs to. Outside of the workers of e2e tests, the record keeps nothing.
import { inject } from "vitest";
import { type RunRecord, runRecord } from "./leaks.ts";

export function thisRun(): RunRecord {
  const folder = process.env["VITEST_WORKER_ID"] === undefined ? undefined : inject("runRecord");
  if (folder !== undefined) return runRecord(folder);
  return { log: () => undefined, secret: () => undefined, folder: () => undefined };
}
