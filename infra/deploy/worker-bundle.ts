// Bundles the Worker for a deployment. wrangler makes one file. This bundle has further files for the code that
// `import()` loads. An isolate that serves only machines neither compiles nor keeps the operators' routes.
import { build } from "esbuild";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * Bundles the Worker of the project at `root` into the folder `into`. The same sources give the same bytes, whatever the
 * folder. Throws if a module has a fault.
 */
export async function bundleWorker(root: string, into: string): Promise<WorkerFiles> {
  const { metafile, outputFiles } = await build({
    entryPoints: ["index.ts"],
    // The files' names have a hash of the sources' paths, which must not depend on `into`.
    absWorkingDir: join(root, "worker"),
    outdir: join(root, "worker"),
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    sourcemap: true,
    metafile: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "silent",
  });
  mkdirSync(into, { recursive: true, mode: 0o700 });
  for (const { path, contents } of outputFiles) writeFileSync(join(into, basename(path)), contents);
  const { outputs } = metafile;
  const atStart = new Set(["index.js"]);
  // A set that grows while it is iterated: the loop also visits the imports of imports.
  for (const file of atStart)
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === "import-statement" && path in outputs) atStart.add(path);
  const scripts = Object.keys(outputs).filter((file) => file.endsWith(".js"));
  return { atStart: [...atStart], onDemand: scripts.filter((file) => !atStart.has(file)) };
}

export interface WorkerFiles {
  /** The files that each isolate loads at its start: index.js and the modules that it imports. */
  atStart: string[];
  /** The files that an isolate loads with the first request that needs them. */
  onDemand: string[];
}
