// Measures the size of the Worker's bundle, compressed as wrangler would upload it.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export const bundleSize: Benchmark = {
  ...budgetOf("bundle-size"),
  measure: async () => {
    const folder = await mkdtemp(join(tmpdir(), "rollcall-bundle-"));
    try {
      await bundle(folder);
      return [{ ours: gzipSync(await readFile(join(folder, "index.js"))).length }];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

async function bundle(folder: string): Promise<void> {
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const child = spawn(process.execPath, [wrangler, "deploy", "--dry-run", "--outdir", folder], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk));
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`wrangler deploy --dry-run ended with ${String(code)}:\n${said}`);
}
