// The commands that send requests to the Worker: join, run, rotate, leave; and doctor, which checks whether they could.
import { type Command, Option } from "commander";
import { doctor, type DoctorFlags } from "../doctor/doctor.ts";
import { join, type JoinFlags } from "../commands/join.ts";
import type { EnrolledFlags } from "../commands/as-enrolled.ts";
import { leaveWorker } from "../commands/leave.ts";
import { LOG_FORMATS } from "../base/log.ts";
import { rotateKey } from "../commands/rotate.ts";
import { run, type RunFlags } from "../commands/run.ts";
import { UNIT_NAME } from "../service/unit.ts";
import { machineFlags, withSet } from "./machine-flags.ts";
import { installFrom } from "./service-commands.ts";

const TOKEN_FILE = "--join-token-file <file>";
const TOKEN_HELP = "a join token, - for standard input (or set ROLLCALL_JOIN_TOKEN)";

const NAME_HELP = "the Node's name, where it is not to be that of the enrolment";
/** As people type it. */
const UNIT = UNIT_NAME.replace(/\.service$/, "");

const workerFlags = (command: Command) =>
  command
    .option("--url <origin>", "the Worker: https://rollcall.example.com (or set ROLLCALL_URL); join keeps it")
    .option("--state <folder>", "keeps the machine's key and enrolment", "/var/lib/rollcall");

export function addWorkerCommands(program: Command): void {
  machineFlags(workerFlags(program.command("join")))
    .description("Enrol this machine under its name, once. With --install-service it reports from then on.")
    .option(TOKEN_FILE, TOKEN_HELP)
    .option("--install-service", "install, enable and start the systemd service, which gets the same flags")
    .addHelpText("after", JOIN_EXAMPLES)
    .action(async (flags: JoinFlags & { installService?: true }, command: Command) => {
      process.stderr.write(`node-shim: ${await join(withSet(flags))}\n`);
      if (flags.installService) await installFrom(command, flags.state);
    });

  machineFlags(workerFlags(program.command("run")))
    .description("Enrol where that is not done yet, then report until stopped.")
    .option(TOKEN_FILE, `${TOKEN_HELP}; needed where join has not been run`)
    .addOption(
      new Option("--log-format <format>", "text on a terminal, json elsewhere").choices([...LOG_FORMATS]),
    )
    .addHelpText("after", RUN_EXAMPLES)
    .action((flags: RunFlags) => run(withSet(flags)));

  workerFlags(program.command("rotate"))
    .description("Have a new key take this one's place, with the next start's first report. The name stays.")
    .option("--hostname-override <name>", NAME_HELP)
    .addHelpText(
      "after",
      "\nExample, within the lease of a running service:\n" +
        `  systemctl stop ${UNIT} && node-shim rotate; systemctl start ${UNIT}`,
    )
    .action(async (flags: EnrolledFlags) => {
      process.stderr.write(`node-shim: ${await rotateKey(flags)}\n`);
    });

  workerFlags(program.command("leave"))
    .description(
      "Have the Node removed and this machine forgotten, once. Coming back needs a new join token.",
    )
    .option("--hostname-override <name>", NAME_HELP)
    .addHelpText("after", "\nExample:\n  node-shim uninstall-service && node-shim leave")
    .action(async (flags: EnrolledFlags) => {
      process.stderr.write(`node-shim: ${await leaveWorker(flags)}\n`);
    });

  machineFlags(workerFlags(program.command("doctor")))
    .description(
      "Check all that the shim needs, from the URL to the disk, and say what to do. Changes nothing.",
    )
    .option(TOKEN_FILE, `${TOKEN_HELP}; its form is checked`)
    .option("--json", "the findings as JSON")
    .addHelpText("after", DOCTOR_HELP)
    .action(async (flags: DoctorFlags) => {
      const { text, exitCode } = await doctor(withSet(flags));
      process.stdout.write(text);
      process.exitCode = exitCode;
    });
}

const JOIN_EXAMPLES = `
Examples:
  node-shim join --url https://rollcall.example.com --join-token-file /root/join-token --install-service
  pass show rollcall/join-token | node-shim join --url https://rollcall.example.com --join-token-file -

A token is never an argument: every user of a machine can read those. Joining twice changes nothing.`;

const RUN_EXAMPLES = `
Examples:
  node-shim run
  node-shim run --url https://rollcall.example.com --join-token-file /etc/rollcall/join-token
  node-shim run --config /etc/rollcall/kubelet.yaml --log-format json

Reports go out every nodeStatusUpdateFrequency (10s) less 2 to 6 %, and at once when a threshold is crossed, when errors
of the runtime, the network or the storage come, go or change, and (with a shutdownGracePeriod) when the machine goes
down. After an error: at random, at most one interval apart. What it says goes to stderr: a line when something changed.

SIGTERM or SIGINT ends it within a second.`;

const DOCTOR_HELP = `
Examples:
  node-shim doctor
  node-shim doctor --config /etc/rollcall/kubelet.yaml
  node-shim doctor --url https://rollcall.example.com --join-token-file /root/join-token
  node-shim doctor --json | jq '.findings[] | select(.level != "ok")'

Each finding is ok, warn (the shim works, but see to it) or fail (it cannot work: exit code 1).`;
