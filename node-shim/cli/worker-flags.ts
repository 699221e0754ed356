// The flags of the commands that speak with a Worker or look at what such a command has left.
import type { Command } from "commander";

export const TOKEN_FILE = "--join-token-file <file>";
export const TOKEN_HELP = "a join token, - for standard input (or set ROLLCALL_JOIN_TOKEN)";

export const stateFlag = (command: Command) =>
  command.option("--state <folder>", "keeps the machine's key and enrolment", "/var/lib/rollcall");

export const workerFlags = (command: Command) =>
  stateFlag(
    command.option(
      "--url <origin>",
      "the Worker: https://rollcall.example.com (or set ROLLCALL_URL); join keeps it",
    ),
  );
