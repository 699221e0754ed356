// node-shim: runs the command line, and turns failures into one line and an exit code.
import { shimProgram } from "./cli/program.ts";
import { faultOf } from "./base/fault.ts";
import { logLine } from "./base/log.ts";

// Up to 20.19, Node.js warns that Ed25519 is experimental, which is of no use to the machine's operator.
process.removeAllListeners("warning");
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`node-shim: ${name}: ${message}`);
});

shimProgram()
  .parseAsync()
  .catch((error: unknown) => {
    // With --log-format json, every line has to be JSON.
    const isJson = / --log-format[= ]json( |$)/.test(process.argv.join(" "));
    const fault = faultOf(error);
    console.error(isJson ? logLine("json", new Date().toISOString(), "error", fault) : `node-shim: ${fault}`);
    process.exitCode = 1;
  });
