// Starts node-shim: runs the command line of this process.
import { codeOf } from "./base/fault.ts";
import { runCommandLine } from "./cli/command-line.ts";

// Up to version 20.19, Node.js warns that Ed25519 is experimental. Operators cannot act on that warning.
process.removeAllListeners("warning");
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`node-shim: ${name}: ${message}`);
});

// Without this listener, a log that cannot be written ends the process: a full disk (ENOSPC), no reader (EPIPE).
process.stderr.on("error", () => undefined);

// Without a reader (`node-shim facts | head`), a command ends quietly, like a program that SIGPIPE ends.
process.stdout.on("error", (error) => {
  if (codeOf(error) !== "EPIPE") {
    console.error(`node-shim: the output cannot be written (${codeOf(error)})`);
    process.exitCode = 1;
  }
  process.exit();
});

void runCommandLine(process.argv.slice(2));
