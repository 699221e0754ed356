// Starts the operator's command line `rollcall`.
import { basename } from "node:path";
import { pause, wallMs } from "../../node-shim/base/clock.ts";
import { endWithReader } from "../../node-shim/base/output.ts";
import { COMPLETE, runCommandLine } from "./program.ts";
import { terminal } from "./confirm.ts";
import { fedChanges } from "./feed-client.ts";

const [, program = "", ...args] = process.argv;
/** kubectl completes its plugin by running the program of this name. */
const words = basename(program) === "kubectl_complete-rollcall" ? [COMPLETE, ...args] : args;

endWithReader("rollcall");
const writeBytes = (bytes: Uint8Array) => void process.stdout.write(bytes);

/** The exit code of a program that SIGINT ended, as shells report it. */
const INTERRUPTED = 130;
function atInterrupt(line: string): () => void {
  const end = () => {
    process.stderr.write(`\nrollcall: ${line}\n`);
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", end);
  return () => process.off("SIGINT", end);
}

void runCommandLine(words, {
  process,
  terminal,
  now: wallMs,
  pause,
  writeBytes,
  atInterrupt,
  changesOf: fedChanges,
});
