#!/usr/bin/env node
// Starts the shim's bundle with V8 settings that save memory; docs/shim.md has the measured result. CommonJS, since
// an ES module that imports from Node.js loads whole built-in modules.
const { setFlagsFromString } = require("node:v8");

for (const flag of [
  // The shim's code runs for milliseconds in ten seconds: optimizing compilers cost more than they save.
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  // After a report, most objects are garbage: a small young generation collects them early.
  "--semi-space-growth-factor=1",
  "--optimize-for-size",
])
  setFlagsFromString(flag);

require("../dist/node-shim.cjs");
