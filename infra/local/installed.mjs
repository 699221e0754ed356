// Ends `npm start` and its like before `npm ci` has ended. The earliest Node.js that runs this file runs no TypeScript.
import { existsSync } from "node:fs";

/** npm writes this file at the end of an installation. */
const COMPLETE = new URL("../../node_modules/.package-lock.json", import.meta.url);
/** The first version of Node.js that the programs of the checkout support. npm installs it on Linux. */
const LEAST_NODE = 24;

const fault = !existsSync(COMPLETE)
  ? "the packages are not installed completely: run `npm ci`, and wait until it has ended"
  : Number.parseInt(process.versions.node) < LEAST_NODE
    ? `this is Node.js ${process.version}: install Node.js ${LEAST_NODE} or newer`
    : null;
if (fault !== null) {
  console.error(`rollcall: ${fault}`);
  process.exit(1);
}
