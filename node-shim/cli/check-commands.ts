// Defines `status` and `doctor`, which check this machine's shim and its connection to the Worker, and change nothing.
import type { Command } from "commander";
import { wallMs } from "../base/clock.ts";
import { doctor, type DoctorFlags } from "../doctor/doctor.ts";
import { type Screen, screenOf, statusScreen } from "../status/screen.ts";
import { statusOf } from "../status/diagnosis.ts";
import { machineFlags, stateFlag, TOKEN_FILE, TOKEN_HELP, withSet, workerFlags } from "./flags.ts";
import { likeService, stateOfService } from "./service-flags.ts";

export function addCheckCommands(program: Command): void {
  stateFlag(stateOfService(program.command("status")))
    .description(
      "Show the last report of this machine's shim, and whether its Node is Ready. Sends no request.",
    )
    .option("--json", "print the status as JSON")
    .addHelpText("after", STATUS_HELP)
    .action(async (flags: StatusFlags) => {
      const { text, exitCode } = await statusCommand(flags, screenOf(process.stdout, process.env));
      process.stdout.write(text);
      process.exitCode = exitCode;
    });

  machineFlags(workerFlags(likeService(program.command("doctor"))))
    .description(
      "Check everything that the shim needs, from the URL to the disk, and print remedies. Changes nothing.",
    )
    .option(TOKEN_FILE, `${TOKEN_HELP}; doctor checks its form`)
    .option("--json", "print the findings as JSON")
    .addHelpText("after", DOCTOR_HELP)
    .action(async (flags: DoctorFlags) => {
      const { text, exitCode } = await doctor(withSet(flags));
      process.stdout.write(text);
      process.exitCode = exitCode;
    });
}

export const STATUS_CODES = `  0  the shim reports, and the Node is Ready
  1  this machine is not enrolled, this user may not read its state, or no shim can write its status
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

Each finding is ok, warn (the shim works, but needs attention) or fail (it cannot work: exit code 1).`;

interface StatusFlags {
  state: string;
  json?: boolean;
}

/** Returns the text to print and the exit code. Throws if the state folder is unreadable. */
async function statusCommand(
  { state, json }: StatusFlags,
  screen: Screen,
): Promise<{ text: string; exitCode: number }> {
  const nowMs = wallMs();
  const { seen, diagnosis, stateFault } = await statusOf(state, nowMs);
  const { exitCode } = diagnosis;
  if (!json) return { text: statusScreen(diagnosis, seen, nowMs, screen, stateFault), exitCode };
  const { kind, text, cure } = diagnosis;
  const fault = stateFault !== null && { stateFault };
  const whole = {
    kind,
    text,
    cure,
    exitCode,
    isRunning: seen?.isRunning ?? false,
    ...fault,
    status: seen?.file,
  };
  return { text: `${JSON.stringify(whole, null, 2)}\n`, exitCode };
}
