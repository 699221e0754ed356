// Starts node-shim: runs the command line of this process.
import { endWithReader } from "./base/output.ts";
import { runCommandLine } from "./cli/command-line.ts";

// Up to version 20.19, Node.js warns that Ed25519 is experimental. Operators cannot act on that warning.
process.removeAllListeners("warning");
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`node-shim: ${name}: ${message}`);
});

endWithReader("node-shim");

void runCommandLine(process.argv.slice(2));
