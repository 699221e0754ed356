// Records the state and the Worker of a version, for tests of later versions and of going back. The command is `npm
// run states -- NAME FOLDER [SOURCES]`. FOLDER is the state folder of that version's `npm start -- --nodes N
// --state FOLDER`, after the last machine was forgotten. SOURCES is the folder with that version's sources; absent,
// these sources are used. The recording contains this computer's own machine. Record it where that may be public,
// or from sources without startShim (infra/local/cluster.ts).
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
  // Bundled libraries in CommonJS load Node's own modules with `require`, which an ES module lacks.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
// The Worker is bundled as in infra/local/workerd.ts, which adds the static files when the Worker runs.
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
