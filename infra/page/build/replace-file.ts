// Replaces a file while a running program may read it.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** A reader finds either the old content or the new one. A file with the same content stays untouched. */
export function replaceFile(file: string, contents: Uint8Array): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  const written = `${file}.${process.pid}.new`;
  writeFileSync(written, contents);
  renameSync(written, file);
}
