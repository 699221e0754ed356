// Runs a command line, and turns failures into one line and an exit code.
import { CommanderError } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { fail } from "./answer.ts";
import { complete } from "./completion/complete.ts";
import { EXIT_CODES } from "./fault.ts";
import type { Surroundings } from "./operator-program.ts";
import { operatorProgram } from "./program.ts";

/** What shells ask for. No command of the program's: what comes behind it is a command line itself. */
export const COMPLETE = "__complete";

/** `args` are typically those of this process, behind the program. The exit code is set where it is not 0. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const program = operatorProgram(surroundings);
  try {
    if (args[0] === COMPLETE) await complete(program, args.slice(1));
    else await program.parseAsync(withThumbprintsLast(args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(program, { reason: "failed", says: faultOf(error) });
    else if (error.exitCode !== 0) surroundings.process.exitCode = EXIT_CODES.usage;
  }
}

/** One key in 64 has a thumbprint that begins like a flag; it is always the last operand. */
function withThumbprintsLast(args: readonly string[]): string[] {
  const isThumbprint = (text: string) => /^-[\w-]{42}$/.test(text);
  const thumbprints = args.filter(isThumbprint);
  if (thumbprints.length === 0) return [...args];
  return [...args.filter((text) => !isThumbprint(text)), "--", ...thumbprints];
}
