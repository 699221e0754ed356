// Replaces a file that a running program may be reading.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** Writes a file so that readers find the old contents or the new. Leaves a file with equal contents untouched. */
export function replaceFile(file: string, contents: Uint8Array): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  const written = `${file}.${process.pid}.new`;
  writeFileSync(written, contents);
  renameSync(written, file);
}
