// Makes a temporary folder for one test, and finds the project's own folder.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../../..");

export interface TemporaryFolder {
  path: string;
  remove: () => void;
}

export function temporaryFolder(): TemporaryFolder {
  const path = mkdtempSync(join(tmpdir(), "rollcall-"));
  // Retries, since the children of a killed process may still write their last lines.
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
