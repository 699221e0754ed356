// Writes a static file while a Worker may be serving it.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** Whoever reads the file finds it as it was before, or as it is now. What is the same already is left alone. */
export function replaceFile(file: string, contents: Uint8Array): void {
  if (existsSync(file) && readFileSync(file).equals(contents)) return;
  const written = `${file}.${process.pid}.new`;
  writeFileSync(written, contents);
  renameSync(written, file);
}
