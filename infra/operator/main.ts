// rollcall: the operator's command line, as a program.
import { basename } from "node:path";
import { pause, wallMs } from "../../node-shim/base/clock.ts";
import { COMPLETE, runCommandLine } from "./program.ts";
import { terminal } from "./confirm.ts";
import { canFollow, fedChanges, polledChanges } from "./feed-client.ts";

const [, program = "", ...args] = process.argv;
/** kubectl runs the program of this name to complete its plugin. */
const words = basename(program) === "kubectl_complete-rollcall" ? [COMPLETE, ...args] : args;

const changesOf = canFollow() ? fedChanges : () => polledChanges(pause);

void runCommandLine(words, { process, terminal, now: wallMs, pause, changesOf });
