// Starts node-shim: runs the command line of this process, and ends the process also if one of its threads hangs.
import { existsSync } from "node:fs";
import { pause } from "./base/clock.ts";
import { endWithReader } from "./base/output.ts";
import { runCommandLine } from "./cli/command-line.ts";

// Up to version 20.19, Node.js warns that Ed25519 is experimental. Operators cannot act on that warning.
process.removeAllListeners("warning");
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`node-shim: ${name}: ${message}`);
});

endWithReader("node-shim");

void runCommandLine(process.argv.slice(2)).then(endDespiteThreads);

/** The wait for Node.js to end by itself: longer than `run` waits before it ends its process by a signal. */
const ENDS_WITHIN_MS = 1000;
const SHELL = "/bin/sh";

/**
 * Ends this process with its exit code if Node.js does not, since Node.js waits for its threads also in process.exit.
 * Without execve (Node.js before 22.15) or a shell, SIGTERM ends the process.
 */
async function endDespiteThreads(): Promise<void> {
  await pause(ENDS_WITHIN_MS, { ref: false });
  if (typeof process.execve === "function" && existsSync(SHELL))
    process.execve(SHELL, ["sh", "-c", `exit ${Number(process.exitCode ?? 0)}`], {});
  process.kill(process.pid, "SIGTERM");
}
