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
void runCommandLine(words, { process, terminal, now: wallMs, pause, writeBytes, changesOf: fedChanges });
