// Runs a command line. Reports a failure in one line and sets the exit code.
import { Command } from "commander";
import { VERSION } from "../../shared/version.ts";
import { timestamp } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { logLine } from "../base/log.ts";
import { addAskCommand } from "./ask-command.ts";
import { addCheckCommands } from "./check-commands.ts";
import { addOfflineCommands } from "./offline-commands.ts";
import { addServiceCommands } from "./service-commands.ts";
import { addWorkerCommands } from "./worker-commands.ts";

/** Runs the command that `args` names. An unknown command or flag ends the process at once. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  try {
    await shimProgram().parseAsync([...args], { from: "user" });
  } catch (error) {
    // With --log-format json, the line about the failure is JSON too.
    const isJson = / --log-format[= ]json( |$)/.test(` ${args.join(" ")}`);
    const fault = faultOf(error);
    console.error(isJson ? logLine("json", timestamp(), "error", fault) : `node-shim: ${fault}`);
    process.exitCode = 1;
  }
}

// Defines the command line: every command with its flags and help. The manual page is generated from this definition.

const AFTER = `
Examples:
  node-shim preview
  node-shim join --url https://rollcall.example.com --join-token-file /root/join-token --install-service
  node-shim status
  node-shim doctor

Environment:
  ROLLCALL_URL         the Worker, where no --url is given
  ROLLCALL_JOIN_TOKEN  a join token, where no --join-token-file is given
  HTTPS_PROXY          the proxy to the Worker: http://[NAME:PASSWORD@]HOST:PORT, or https://
  NO_PROXY             Workers to reach without the proxy: domains, addresses, networks, with or without a port; or *
  NODE_EXTRA_CA_CERTS  a file of authorities to trust in addition, as with --ca-file

Exit codes:
  0  ended by SIGTERM or SIGINT (as a process that the signal ended, if a file system or resolver hangs)
  1  something on this machine or at the Worker is wrong; the last line says what to do
  2  the command line is wrong
  status and join have more: see their help`;

export function shimProgram(): Command {
  const program = new Command("node-shim")
    .description("Reports this machine's facts to rollcall, which keeps its Kubernetes Node correct.")
    .version(VERSION, "--version", "print the version alone")
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
    .addHelpText("after", AFTER);
  addWorkerCommands(program);
  addCheckCommands(program);
  addAskCommand(program);
  addServiceCommands(program);
  addOfflineCommands(program);
  return program;
}
