// Returns the record of the run that a test belongs to. Outside of a worker of the e2e tests it records nothing.
import { inject } from "vitest";
import { type RunRecord, runRecord } from "./leaks.ts";

export function thisRun(): RunRecord {
  const folder = process.env["VITEST_WORKER_ID"] === undefined ? undefined : inject("runRecord");
  if (folder !== undefined) return runRecord(folder);
  return { log: () => undefined, secret: () => undefined, folder: () => undefined };
}
