// Defines the commands that send requests to the Worker as this machine: join, run, rotate, upgrade, leave.
import { type Command, Option } from "commander";
import { printable } from "../../shared/protocol/printable.ts";
import { MACHINE_FLAGS } from "../machine/flag-table.ts";
import { LOG_FORMATS } from "../base/log.ts";
import { asEnrolled, type EnrolledFlags } from "../commands/as-enrolled.ts";
import { firstAnswer } from "../commands/first-answer.ts";
import { join, type JoinFlags, NotApproved } from "../commands/join.ts";
import { leaveWorker } from "../commands/leave.ts";
import { run, type RunFlags } from "../commands/run.ts";
import { thisUpgradeHost, type UpgradeFlags, upgradeShim } from "../commands/upgrade.ts";
import { loadNextKey, makeNextKey, storeNextEnrolment } from "../identity/identity.ts";
import { missingFlags } from "../service/installed.ts";
import { hasPackageUnit } from "../service/service.ts";
import { EXIT, UNIT } from "../status/diagnoses.ts";
import { requestFaultText } from "../worker-link/exchange.ts";
import { rotate } from "../worker-link/requests.ts";
import { STATUS_CODES } from "./check-commands.ts";
import {
  flagOption,
  givenFlags,
  machineFlags,
  TOKEN_FILE,
  TOKEN_HELP,
  withSet,
  workerFlags,
} from "./flags.ts";
import { installFrom, NOT_AFTER_JOIN } from "./service-commands.ts";
import { likeService, likeServiceThatStays } from "./service-flags.ts";

const NAME_HELP = "the Node's name (default: the enrolment's)";

/** The service's flags that commands of an enrolled machine ignore: their default is the enrolment's name. */
const NAME = ["hostnameOverride"];

const print = (line: string) => void process.stderr.write(`node-shim: ${line}\n`);

export function addWorkerCommands(program: Command): void {
  machineFlags(workerFlags(likeServiceThatStays(program.command("join"))))
    .description(
      "Enrol this machine under its name, once, and print whether its Node is Ready. --install-service starts the service, which reports from then on.",
    )
    .option(TOKEN_FILE, TOKEN_HELP)
    .option("--install-service", "install, enable and start the systemd service with the same flags")
    .addHelpText("after", JOIN_EXAMPLES)
    .action(async (flags: JoinFlags & { installService?: true }, command: Command) => {
      try {
        print(await join(withSet(flags), print, flags.installService));
      } catch (error) {
        if (!(error instanceof NotApproved) || !flags.installService) throw error;
        print(error.message);
        process.exitCode = 1;
        await installFrom(command, flags.state);
        print("the service waits, and enrols this machine after the approval");
        return;
      }
      if (flags.installService) await installFrom(command, flags.state);
      const given = givenFlags(command, ["installService", ...NOT_AFTER_JOIN]);
      process.exitCode = await endWithAnswer(withSet(flags), flags.installService === true, given);
    });

  machineFlags(workerFlags(program.command("run")))
    .description("Enrol this machine if it is not enrolled, then report until stopped.")
    .option(TOKEN_FILE, `${TOKEN_HELP}; needed if join has not been run`)
    .addOption(
      new Option(
        "--log-format <format>",
        "the format of log lines: text (default on a terminal) or json (default elsewhere)",
      ).choices([...LOG_FORMATS]),
    )
    .addHelpText("after", RUN_EXAMPLES)
    .action((flags: RunFlags) => run(withSet(flags)));

  workerFlags(likeService(program.command("rotate"), NAME))
    .description(
      "Replace this machine's key: the first report after the shim's next start has a new one. The name stays.",
    )
    .option("--hostname-override <name>", NAME_HELP)
    .addOption(flagOption(MACHINE_FLAGS.caFile))
    .addHelpText(
      "after",
      "\nExample, within the lease of a running service:\n" +
        `  systemctl stop ${UNIT} && node-shim rotate; systemctl start ${UNIT}`,
    )
    .action(async (flags: EnrolledFlags) => {
      print(await rotateKey(flags));
    });

  addUpgrade(program);

  workerFlags(likeService(program.command("leave"), NAME))
    .description(
      "Remove the Node and this machine's enrolment, once. Another enrolment needs a new join token.",
    )
    .option("--hostname-override <name>", NAME_HELP)
    .addOption(flagOption(MACHINE_FLAGS.caFile))
    .addHelpText("after", LEAVE_EXAMPLE)
    .action(async (flags: EnrolledFlags) => {
      print(await leaveWorker(flags));
    });
}

function addUpgrade(program: Command): void {
  workerFlags(likeService(program.command("upgrade"), NAME))
    .description("Ask the Worker which version this machine may have, and install it with apt.")
    .option("--check", "print the version that this machine may have, and install nothing")
    .option("--version-to <file>", "ask, and write the version into this file; install nothing")
    .option("--version-from <file>", "install the version in this file; send no request, and remove the file")
    .option("--hostname-override <name>", NAME_HELP)
    .addOption(flagOption(MACHINE_FLAGS.caFile))
    .addHelpText("after", UPGRADE_HELP)
    .action(async (flags: UpgradeFlags) => {
      const { show, clear } = progressLine(process.stderr, "waiting: ");
      const done = await upgradeShim(flags, thisUpgradeHost(flags, show)).finally(clear);
      print(done);
    });
}

/** Waits for the cluster's answer, and prints it with the next step, which has the `given` flags. Returns the exit code. */
async function endWithAnswer(
  flags: JoinFlags,
  isServiceStarted: boolean,
  given: readonly string[],
): Promise<number> {
  const { show, clear } = progressLine(process.stderr, "waiting: ");
  const { diagnosis, isLast } = await firstAnswer(flags, isServiceStarted, show).finally(clear);
  const end = diagnosis.exitCode === EXIT.ready ? ", and the Node will not stay Ready" : "";
  const lines = [
    `node-shim: ${diagnosis.text}`,
    ...(diagnosis.cure === undefined ? [] : [`→ ${diagnosis.cure}`]),
    ...(isLast ? [`→ nothing reports from now on${end}; next: ${nextStep("/", given)}`] : []),
  ];
  process.stderr.write(`${lines.join("\n")}\n`);
  return diagnosis.exitCode;
}

/** Returns the commands that start the shim with the flags that `join` was given. */
export function nextStep(root: string, given: readonly string[]): string {
  if (hasPackageUnit(root)) return missingFlags(root, given) ?? `systemctl start ${UNIT}`;
  return ["install-service", "run"]
    .map((command) => `\`${["node-shim", command, ...given].join(" ")}\``)
    .join(", or ");
}

const JOIN_EXAMPLES = `
Examples:
  node-shim join --url https://rollcall.example.com --join-token-file /root/join-token --install-service
  pass show rollcall/join-token | node-shim join --url https://rollcall.example.com --join-token-file -

A token is never an argument: every user of a machine can read those. Joining twice changes nothing.

It ends once the cluster has answered, within 10 s: "edge-7 is Ready", or why not and what to do. If no service runs, it
reports itself until then, and prints how to report from then on.

If another machine has the name, an operator has to approve this machine. With --install-service the service waits for that,
and needs no second join.

Exit codes: 1 if it did not enrol (or waits for an approval), else those of node-shim status:
${STATUS_CODES}`;

const RUN_EXAMPLES = `
Examples:
  node-shim run
  node-shim run --url https://rollcall.example.com --join-token-file /etc/rollcall/join-token
  node-shim run --config /etc/rollcall/kubelet.yaml --log-format json

It reports every nodeStatusUpdateFrequency (10s) less 2 to 6 %, and at once when a threshold is crossed, when errors of
the runtime, the network or the storage come, go or change, and (with a shutdownGracePeriod) when the machine shuts down.
After an error it waits at random, at most one interval. It logs to stderr: one line when something changed.

SIGTERM or SIGINT ends it within a second.`;

const UPGRADE_HELP = `
Examples:
  node-shim upgrade --check
  node-shim upgrade
  systemctl enable --now rollcall-node-shim-upgrade.timer

The timer upgrades once an hour or two. The operator's rollout decides which machines may have a version; without a
rollout, nothing happens. The package comes from the apt repository of this machine's sources, and apt checks its
signature. The shim never installs a version that is older than the one that runs.

The timer runs two units: one asks the Worker in a sandbox (--version-to), the other installs (--version-from).

With --check as well, the rollout counts this machine as one that was given the version.

The package restarts the service with the new version. If the Worker has not answered the new version within 3 minutes,
the shim installs the former one again, and does not try the new one for a day.

Exit codes: 0 upgraded, or nothing to do; 1 not upgraded, or gone back: the last line says why, and what to do.`;

const LEAVE_EXAMPLE = `
Example, for a machine with the service:
  systemctl stop ${UNIT} && node-shim leave && node-shim uninstall-service

Keep this order: leave uses the service's URL, proxy and authorities while the service is installed.`;

interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write: (text: string) => unknown;
}

const CLEAR = "\r\u{1B}[K";

/** Returns functions that show and clear one line on `stream` if `stream` is a terminal, and else write nothing. */
export function progressLine(
  stream: ProgressStream,
  before: string,
): { show: (text: string) => void; clear: () => void } {
  let shown = "";
  const put = (line: string) => {
    if (stream.isTTY !== true || line === shown) return;
    shown = line;
    stream.write(CLEAR + line);
  };
  return {
    // Cuts the text at the terminal's width, because a line that wraps cannot be cleared.
    show: (text) => put(printable(before + text).slice(0, (stream.columns ?? 80) - 1)),
    clear: () => put(""),
  };
}

const DEADLINE_MS = 10_000;

/**
 * Asks the Worker to pin a new key, which the shim uses from its next start. The first report with the new key ends
 * the old key. Returns one line for the operator. Throws, with the remedy, if that fails; a retry uses the same new
 * key.
 */
function rotateKey(flags: EnrolledFlags): Promise<string> {
  return asEnrolled(flags, DEADLINE_MS, "join first", async (machine, { send }) => {
    const { name, origin } = machine;
    const next = (await loadNextKey(flags.state)) ?? (await makeNextKey(flags.state));
    const { thumbprint } = next.key;
    if (!next.enrolment) {
      const outcome = await rotate(send, machine, next.key);
      if (!outcome.ok) {
        throw new Error(
          `not rotated: ${requestFaultText(outcome.error)}; the key has not changed, try again`,
        );
      }
      storeNextEnrolment(flags.state, next.key, { name, thumbprint, kid: outcome.value.kid, origin });
    }
    return `${name} has the next key ${thumbprint}: start the shim again, its first report ends the key before`;
  });
}
