// Runs a command line, and turns failures into one line and an exit code.
import { timestamp } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { logLine } from "../base/log.ts";
import { shimProgram } from "./program.ts";

/** `args` are typically those of this process, behind the program. What is wrong with them ends it at once. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  try {
    await shimProgram().parseAsync([...args], { from: "user" });
  } catch (error) {
    // With --log-format json, every line has to be JSON.
    const isJson = / --log-format[= ]json( |$)/.test(` ${args.join(" ")}`);
    const fault = faultOf(error);
    console.error(isJson ? logLine("json", timestamp(), "error", fault) : `node-shim: ${fault}`);
    process.exitCode = 1;
  }
}
