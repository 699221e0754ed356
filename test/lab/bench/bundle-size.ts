// Measures the files of the Worker's bundle that each isolate loads at its start, compressed as in an upload.
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleWorker } from "../../../infra/deploy/worker-bundle.ts";
import { gzipSync } from "node:zlib";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export const bundleSize: Benchmark = {
  ...budgetOf("bundle-size"),
  measure: async () => {
    const folder = await mkdtemp(join(tmpdir(), "rollcall-bundle-"));
    try {
      const { atStart } = await bundleWorker(ROOT, folder);
      return [{ ours: gzipBytes(folder, atStart) }];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/** Returns the compressed size of files of the bundle in `folder`, in bytes. */
export const gzipBytes = (folder: string, files: readonly string[]): number =>
  gzipSync(Buffer.concat(files.map((file) => readFileSync(join(folder, file))))).byteLength;
