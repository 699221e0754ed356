// Runs a command line, and turns failures into one line and an exit code.
import { Command } from "commander";
import { VERSION } from "../../shared/version.ts";
import { timestamp } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { logLine } from "../base/log.ts";
import { addCheckCommands } from "./check-commands.ts";
import { addOfflineCommands } from "./offline-commands.ts";
import { addServiceCommands } from "./service-commands.ts";
import { addWorkerCommands } from "./worker-commands.ts";

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

// The command line as a whole: every command with its flags and help. The manual page is made from it.

const AFTER = `
Examples:
  node-shim preview
  node-shim join --url https://rollcall.example.com --join-token-file /root/join-token --install-service
  node-shim status
  node-shim doctor

Environment:
  ROLLCALL_URL         the Worker, where no --url is given
  ROLLCALL_JOIN_TOKEN  a join token, where no --join-token-file is given
  HTTPS_PROXY          a proxy on the way to the Worker: http://[NAME:PASSWORD@]HOST:PORT, or https://
  NO_PROXY             Workers that are asked without it: domains, addresses, networks, each perhaps with a port; or *
  NODE_EXTRA_CA_CERTS  a file of authorities that are trusted as well, as with --ca-file

Exit codes:
  0  ended as asked (SIGTERM, SIGINT); by that signal where a hung file system or resolver holds a call of it
  1  something on this machine or at the Worker is not as it must be; the last line says what to do
  2  the command line is wrong
  status and join have more: see their help`;

export function shimProgram(): Command {
  const program = new Command("node-shim")
    .description("Reports what this machine is to rollcall, which keeps its Kubernetes Node true.")
    .version(VERSION, "--version", "print the version alone")
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .addHelpText("after", AFTER);
  addWorkerCommands(program);
  addCheckCommands(program);
  addServiceCommands(program);
  addOfflineCommands(program);
  return program;
}
