// npm run rollcall: the operator's command line. Runs the command that is asked for; knows none of them.
import { faultOf } from "../../node-shim/base/fault.ts";
import { fail } from "./answer.ts";
import { operatorProgram } from "./program.ts";

/** One key in 64 has a thumbprint that begins like a flag; it is always the last operand. */
function withThumbprintsLast(args: string[]): string[] {
  const isThumbprint = (text: string) => /^-[\w-]{42}$/.test(text);
  const thumbprints = args.filter(isThumbprint);
  if (thumbprints.length === 0) return args;
  return [...args.filter((text) => !isThumbprint(text)), "--", ...thumbprints];
}

try {
  await operatorProgram().parseAsync(withThumbprintsLast(process.argv.slice(2)), { from: "user" });
} catch (error) {
  fail(faultOf(error));
}
