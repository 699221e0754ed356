// node-shim: the command line. Reads flags, calls what does the work, turns failures into one line and an exit code.
import { Command, Option } from "commander";
import { CONFIGURATION_FLAGS, type ConfigurationFlag, type FlagTexts } from "./config/flags.ts";
import { faultOf } from "./fault.ts";
import { leaveWorker, type LeaveFlags } from "./leave.ts";
import type { MachineFlags } from "./machine.ts";
import { preview } from "./preview.ts";
import { printConfig } from "./print-config.ts";
import { printFacts } from "./print-facts.ts";
import { run, type RunFlags } from "./run.ts";
import { VERSION } from "./version.ts";

const EXIT_CODES = `
Exit codes:
  0  ended as asked (SIGTERM, SIGINT); by that signal where a hung file system or resolver holds a call of it
  1  something on this machine or at the Worker is not as it must be; the last line says what to do
  2  the command line is wrong`;

const program = new Command("node-shim")
  .description("Reports what this machine is to rollcall, which keeps its Kubernetes Node true.")
  .version(VERSION)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .addHelpText("after", EXIT_CODES);

const collect = (text: string, before: string[] = []) => [...before, text];
const configurationFlags = Object.entries(CONFIGURATION_FLAGS).map(([name, [field, shape]]) => {
  const option = new Option(`--${name} ${shape}`, field)
    .argParser(collect)
    .helpGroup("Fields of the configuration (a flag beats the file):");
  // A flag alone is true.
  return { name: name as ConfigurationFlag, option: shape === "[boolean]" ? option.preset("true") : option };
});

const machineFlags = (command: Command) => {
  command
    .option("--config <file>", "KubeletConfiguration (kubelet.config.k8s.io/v1beta1) in YAML")
    .option("--hostname-override <name>", "the Node's name, instead of this machine's host name")
    .option("--node-ip <ip[,ip]>", "the Node's InternalIP, or one of each family")
    .option("--node-labels <key=value,...>", "labels that the Node registers with", collect);
  for (const { option } of configurationFlags) command.addOption(option);
  return command;
};

/** The flags as the commands want them. */
function withSet<Flags extends MachineFlags>(flags: Flags): Flags {
  const texts = flags as Record<string, unknown>;
  const set = configurationFlags.flatMap(({ name, option }) => {
    const given = texts[option.attributeName()];
    return given === undefined ? [] : [[name, given]];
  });
  return { ...flags, set: Object.fromEntries(set) as FlagTexts };
}

machineFlags(program.command("run"))
  .description("Enrol where that is not done yet, then report until stopped.")
  .requiredOption("--url <origin>", "the Worker: https://rollcall.example.com")
  .option("--state <folder>", "keeps the machine's key and enrolment", "/var/lib/rollcall")
  .option("--join-token-file <file>", "a join token; needed once (or set ROLLCALL_JOIN_TOKEN)")
  .addHelpText(
    "after",
    `
Reports go out every nodeStatusUpdateFrequency (10s) less 2 to 6 %, and at once when a threshold is crossed or errors
of the runtime, the network or the storage come, go or change, or the machine shuts down (with a shutdownGracePeriod).
After an error: with jitter, at most one interval apart.
What it says of them goes to stderr: one line when something changed, JSON unless that is a terminal.`,
  )
  .addHelpText(
    "after",
    "\nExample:\n  node-shim run --url https://rollcall.example.com --join-token-file /etc/rollcall/join-token",
  )
  .action((flags: RunFlags) => run(withSet(flags)));

program
  .command("leave")
  .description("Have the Node removed and this machine forgotten; coming back needs a new join token.")
  .requiredOption("--url <origin>", "the Worker: https://rollcall.example.com")
  .option("--state <folder>", "keeps the machine's key and enrolment", "/var/lib/rollcall")
  .option("--hostname-override <name>", "the Node's name, instead of this machine's host name")
  .action((flags: LeaveFlags) => leaveWorker(flags));

machineFlags(program.command("preview"))
  .description("Print the Node that this machine would be, as YAML. Offline: nothing is sent.")
  .action(async (flags) => {
    process.stdout.write(await preview(withSet(flags)));
  });

machineFlags(program.command("config"))
  .description("Print the configuration in force, as YAML, and where each value came from. Offline.")
  .action((flags) => {
    process.stdout.write(printConfig(withSet(flags)));
  });

machineFlags(program.command("facts"))
  .description(
    "Print what this machine would report of itself, as JSON, and where each fact was read. Offline.",
  )
  .action(async (flags) => {
    process.stdout.write(await printFacts(withSet(flags)));
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(`node-shim: ${faultOf(error)}`);
  process.exitCode = 1;
}
