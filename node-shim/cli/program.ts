// The command line as a whole: every command with its flags and help. The manual page is made from it.
import { Command } from "commander";
import { VERSION } from "../../shared/version.ts";
import { addCheckCommands } from "./check-commands.ts";
import { addOfflineCommands } from "./offline-commands.ts";
import { addServiceCommands } from "./service-commands.ts";
import { addWorkerCommands } from "./worker-commands.ts";

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
