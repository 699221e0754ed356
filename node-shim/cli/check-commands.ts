// The commands that look at this machine's shim and its way to the Worker, and change nothing: status, doctor.
import type { Command } from "commander";
import { type StatusFlags, statusCommand } from "../commands/status.ts";
import { doctor, type DoctorFlags } from "../doctor/doctor.ts";
import { screenOf } from "../status/screen.ts";
import { machineFlags, withSet } from "./machine-flags.ts";
import { likeService, stateOfService } from "./service-flags.ts";
import { stateFlag, TOKEN_FILE, TOKEN_HELP, workerFlags } from "./worker-flags.ts";

export function addCheckCommands(program: Command): void {
  stateFlag(stateOfService(program.command("status")))
    .description("Show what this machine's shim last did, and whether its Node is Ready. Asks nobody.")
    .option("--json", "the same as JSON")
    .addHelpText("after", STATUS_HELP)
    .action((flags: StatusFlags) => {
      const { text, exitCode } = statusCommand(flags, screenOf(process.stdout, process.env));
      process.stdout.write(text);
      process.exitCode = exitCode;
    });

  machineFlags(workerFlags(likeService(program.command("doctor"))))
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

export const STATUS_CODES = `  0  the shim reports, and the Node is Ready
  1  this machine is not enrolled, or this user may not look
  3  no shim runs, or it hangs
  4  the shim runs, and the Worker does not answer it or refuses it
  5  the Worker answers, and the Node is not Ready`;

const STATUS_HELP = `
Examples:
  node-shim status
  node-shim status --json | jq -r .status.answer.phase

Exit codes:
${STATUS_CODES}`;

const DOCTOR_HELP = `
Examples:
  node-shim doctor
  node-shim doctor --config /etc/rollcall/kubelet.yaml
  node-shim doctor --url https://rollcall.example.com --join-token-file /root/join-token
  node-shim doctor --json | jq '.findings[] | select(.level != "ok")'

Each finding is ok, warn (the shim works, but see to it) or fail (it cannot work: exit code 1).`;
