// node-shim: runs the command line, and turns failures into one line and an exit code.
import { shimProgram } from "./cli/program.ts";
import { faultOf } from "./fault.ts";
import { logLine } from "./log.ts";

try {
  await shimProgram().parseAsync();
} catch (error) {
  // Who asked for JSON reads lines of JSON alone.
  const isJson = / --log-format[= ]json( |$)/.test(process.argv.join(" "));
  const fault = faultOf(error);
  console.error(isJson ? logLine("json", new Date().toISOString(), "error", fault) : `node-shim: ${fault}`);
  process.exitCode = 1;
}
