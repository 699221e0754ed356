// `npm run states -- NAME FOLDER [SOURCES]` records what a version leaves, for the tests of those that follow, and its
// Worker, for going back to it. FOLDER: what `npm start -- --nodes N --state FOLDER` of that version has left, once the last
// machine was forgotten; SOURCES: its sources, which are these where it is absent.
// What it knows of this computer's own machine goes along: record it where that may be public, or from sources that leave out
// startShim (infra/local/cluster.ts).
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { ROOT } from "../../lab/bench/workerd.ts";
import { packState, packWorker } from "./recorded-state.ts";

const [name, folder, sources = ROOT] = process.argv.slice(2);
if (name === undefined || folder === undefined || !/^[\w.-]+$/.test(name)) {
  console.error("Usage: npm run states -- NAME FOLDER [SOURCES]");
  process.exit(2);
}

async function program(entry: string, options: BuildOptions): Promise<Uint8Array> {
  const root = resolve(sources);
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    logLevel: "error",
  });
  const made = outputFiles[0]?.contents;
  if (!made) throw new Error("esbuild made no file");
  return made;
}

const machines = await program("infra/local/simulate.ts", {
  platform: "node",
  // Libraries in CommonJS ask for Node's own modules in this way.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
// As infra/local/workerd.ts makes it, which adds the static files when it runs.
const worker = await program("worker/index.ts", {
  target: "es2024",
  conditions: ["workerd", "worker", "browser"],
  external: ["cloudflare:*"],
});
const state = join(import.meta.dirname, "states", `${name}.br`);
packState(resolve(folder), machines, state);
const bundle = join(import.meta.dirname, "workers", `${name}.js.br`);
packWorker(worker, bundle);
for (const file of [state, bundle]) console.log(`${file}: ${statSync(file).size} bytes`);
