#!/usr/bin/env node
// Starts the bundle, as light as Node.js can be: docs/shim.md says what that comes to. Reads no argument. CommonJS, for
// what a program imports of Node.js is loaded whole, with what nobody asks of it.
const { setFlagsFromString } = require("node:v8");

for (const flag of [
  // Code that runs for milliseconds in ten seconds is not worth what compiling it takes.
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  // What is of no use after a report fits a small nursery, and is collected early.
  "--semi-space-growth-factor=1",
  "--optimize-for-size",
])
  setFlagsFromString(flag);

require("../dist/node-shim.cjs");
