// `npm run states -- NAME FOLDER [SOURCES]` records what a version leaves, for the tests of those that follow. FOLDER: what
// `npm start -- --nodes N --state FOLDER` of that version has left; SOURCES: its sources, which are these where it is absent.
// What it knows of this computer's own machine goes along: record it where that may be public.
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../../bench/workerd.ts";
import { packState } from "./recorded-state.ts";

const [name, folder, sources = ROOT] = process.argv.slice(2);
if (name === undefined || folder === undefined || !/^[\w.-]+$/.test(name)) {
  console.error("Usage: npm run states -- NAME FOLDER [SOURCES]");
  process.exit(2);
}
const { outputFiles } = await build({
  entryPoints: [join(resolve(sources), "infra/local/simulate.ts")],
  absWorkingDir: resolve(sources),
  write: false,
  bundle: true,
  minify: true,
  platform: "node",
  format: "esm",
  // Libraries in CommonJS ask for Node's own modules in this way.
  banner: {
    js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
  logLevel: "error",
});
const machines = outputFiles[0]?.contents;
if (!machines) throw new Error("esbuild made no file");
const file = join(import.meta.dirname, "states", `${name}.br`);
packState(resolve(folder), machines, file);
console.log(`${file}: ${statSync(file).size} bytes`);
