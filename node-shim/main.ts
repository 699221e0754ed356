// node-shim: runs the command line, and turns failures into one line and an exit code.
import { shimProgram } from "./cli/program.ts";
import { faultOf } from "./base/fault.ts";
import { logLine } from "./base/log.ts";

// Node.js 20 calls Ed25519 experimental up to 20.19: that is not this machine's operator's to know.
process.removeAllListeners("warning");
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") console.error(`node-shim: ${name}: ${message}`);
});

shimProgram()
  .parseAsync()
  .catch((error: unknown) => {
    // Who asked for JSON reads lines of JSON alone.
    const isJson = / --log-format[= ]json( |$)/.test(process.argv.join(" "));
    const fault = faultOf(error);
    console.error(isJson ? logLine("json", new Date().toISOString(), "error", fault) : `node-shim: ${fault}`);
    process.exitCode = 1;
  });
