// How much a browser loads before the page shows anything, and whether that is within what was promised.
import { type BuiltFile, FIRST_LOAD_BYTES } from "./build.ts";

/** In bytes, as it travels. */
export function firstLoadBytes(files: readonly BuiltFile[]): number {
  return files.reduce((sum, { isFirstLoad, gzipBytes }) => sum + (isFirstLoad ? gzipBytes : 0), 0);
}

/** One line; where the first load is too large a table of all files. */
export function sizeText(files: readonly BuiltFile[], limitBytes = FIRST_LOAD_BYTES): string {
  const first = firstLoadBytes(files);
  const all = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
  const line = `the page: ${kiB(first)} KiB at first, of ${kiB(limitBytes)}; ${kiB(all)} KiB in all (gzip -9)`;
  if (first <= limitBytes) return line;
  const width = Math.max(...files.map(({ path }) => path.length));
  const rows = files
    .toSorted((a, b) => b.gzipBytes - a.gzipBytes)
    .map(
      ({ path, gzipBytes, isFirstLoad }) =>
        `  ${path.padEnd(width)}  ${kiB(gzipBytes).padStart(6)} KiB  ${isFirstLoad ? "at first" : "later"}`,
    );
  return [line, ...rows].join("\n");
}

const kiB = (bytes: number) => (bytes / 1024).toFixed(1);
