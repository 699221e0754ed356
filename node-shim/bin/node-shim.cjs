#!/usr/bin/env node
// Starts the shim's bundle with V8 settings that save memory; docs/shim.md has the measured result. The file is
// CommonJS, since an ES module loads also the unused parts of the built-in modules that it imports.
const { setFlagsFromString } = require("node:v8");

// Debian 12 has Node.js 18, which lacks functions that the bundle uses.
if (Number.parseInt(process.versions.node) < 20) {
  console.error(
    `node-shim: this is Node.js ${process.version}: install Node.js 20 or newer, or the package that contains one (docs/shim.md, Other systems)`,
  );
  process.exit(1);
}

for (const flag of [
  // Turns off the optimizing compilers: the shim's code runs for milliseconds in ten seconds, so they cost more
  // than they save.
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  // Keeps the young generation small, so that V8 collects it early: after a report, most objects are garbage.
  "--semi-space-growth-factor=1",
  "--optimize-for-size",
])
  setFlagsFromString(flag);

// Each source of facts whose file system hangs keeps one of libuv's threads: at most twelve. By default libuv has four
// threads, and without a free thread no connection is opened.
process.env.UV_THREADPOOL_SIZE ??= "15";

require("../dist/node-shim.cjs");
