// The commands that send requests to the Worker as this machine: join, run, rotate, upgrade, leave.
import { type Command, Option } from "commander";
import { LOG_FORMATS } from "../base/log.ts";
import { asEnrolled, type EnrolledFlags } from "../commands/as-enrolled.ts";
import { firstAnswer } from "../commands/first-answer.ts";
import { join, type JoinFlags } from "../commands/join.ts";
import { leaveWorker } from "../commands/leave.ts";
import { run, type RunFlags } from "../commands/run.ts";
import { thisUpgradeHost, type UpgradeFlags, upgradeShim } from "../commands/upgrade.ts";
import { loadNextKey, makeNextKey, storeNextEnrolment } from "../identity/identity.ts";
import { hasPackageUnit } from "../service/service.ts";
import { EXIT, UNIT } from "../status/diagnoses.ts";
import { requestFaultText } from "../worker-link/exchange.ts";
import { rotate } from "../worker-link/requests.ts";
import { STATUS_CODES } from "./check-commands.ts";
import { flagOption, machineFlags, TOKEN_FILE, TOKEN_HELP, withSet, workerFlags } from "./flags.ts";
import { installFrom } from "./service-commands.ts";
import { likeService, likeServiceThatStays } from "./service-flags.ts";

const NAME_HELP = "the Node's name, where it is not to be that of the enrolment";

/** The enrolment's counts, unless the command is given one. */
const NAME = ["hostnameOverride"];

export function addWorkerCommands(program: Command): void {
  machineFlags(workerFlags(likeServiceThatStays(program.command("join"))))
    .description(
      "Enrol this machine under its name, once, and say whether its Node is Ready. With --install-service it reports from then on.",
    )
    .option(TOKEN_FILE, TOKEN_HELP)
    .option("--install-service", "install, enable and start the systemd service, which gets the same flags")
    .addHelpText("after", JOIN_EXAMPLES)
    .action(async (flags: JoinFlags & { installService?: true }, command: Command) => {
      process.stderr.write(`node-shim: ${await join(withSet(flags))}\n`);
      if (flags.installService) await installFrom(command, flags.state);
      process.exitCode = await endWithAnswer(withSet(flags), flags.installService === true);
    });

  machineFlags(workerFlags(program.command("run")))
    .description("Enrol where that is not done yet, then report until stopped.")
    .option(TOKEN_FILE, `${TOKEN_HELP}; needed where join has not been run`)
    .addOption(
      new Option("--log-format <format>", "text on a terminal, json elsewhere").choices([...LOG_FORMATS]),
    )
    .addHelpText("after", RUN_EXAMPLES)
    .action((flags: RunFlags) => run(withSet(flags)));

  workerFlags(likeService(program.command("rotate"), NAME))
    .description("Have a new key take this one's place, with the next start's first report. The name stays.")
    .option("--hostname-override <name>", NAME_HELP)
    .addOption(flagOption("caFile"))
    .addHelpText(
      "after",
      "\nExample, within the lease of a running service:\n" +
        `  systemctl stop ${UNIT} && node-shim rotate; systemctl start ${UNIT}`,
    )
    .action(async (flags: EnrolledFlags) => {
      process.stderr.write(`node-shim: ${await rotateKey(flags)}\n`);
    });

  workerFlags(likeService(program.command("upgrade"), NAME))
    .description("Ask the Worker which version this machine may have, and have apt install it.")
    .option("--check", "ask, say what it may have, and install nothing")
    .option("--hostname-override <name>", NAME_HELP)
    .addOption(flagOption("caFile"))
    .addHelpText("after", UPGRADE_HELP)
    .action(async (flags: UpgradeFlags) => {
      const { show, clear } = progressLine(process.stderr, "waiting: ");
      const done = await upgradeShim(flags, thisUpgradeHost(flags, show)).finally(clear);
      process.stderr.write(`node-shim: ${done}\n`);
    });

  workerFlags(likeService(program.command("leave"), NAME))
    .description(
      "Have the Node removed and this machine forgotten, once. Coming back needs a new join token.",
    )
    .option("--hostname-override <name>", NAME_HELP)
    .addOption(flagOption("caFile"))
    .addHelpText("after", LEAVE_EXAMPLE)
    .action(async (flags: EnrolledFlags) => {
      process.stderr.write(`node-shim: ${await leaveWorker(flags)}\n`);
    });
}

/** Prints what the cluster says now, and what is next. Returns the exit code. */
async function endWithAnswer(flags: JoinFlags, isServiceStarted: boolean): Promise<number> {
  const { show, clear } = progressLine(process.stderr, "waiting: ");
  const { diagnosis, isLast } = await firstAnswer(flags, isServiceStarted, show).finally(clear);
  const next = hasPackageUnit("/")
    ? `systemctl start ${UNIT}`
    : "node-shim install-service, or node-shim run";
  const end = diagnosis.exitCode === EXIT.ready ? ", and the Node will not stay Ready" : "";
  const lines = [
    `node-shim: ${diagnosis.text}`,
    ...(diagnosis.cure === undefined ? [] : [`→ ${diagnosis.cure}`]),
    ...(isLast ? [`→ nothing reports from now on${end}; next: ${next}`] : []),
  ];
  process.stderr.write(`${lines.join("\n")}\n`);
  return diagnosis.exitCode;
}

const JOIN_EXAMPLES = `
Examples:
  node-shim join --url https://rollcall.example.com --join-token-file /root/join-token --install-service
  pass show rollcall/join-token | node-shim join --url https://rollcall.example.com --join-token-file -

A token is never an argument: every user of a machine can read those. Joining twice changes nothing.

It ends once the cluster has answered, within 10 s: "edge-7 is Ready", or why not and what to do. Where no service runs,
it makes the reports itself until then, and says what is to report from then on.

Exit codes: 1 where it did not enrol, else those of node-shim status:
${STATUS_CODES}`;

const RUN_EXAMPLES = `
Examples:
  node-shim run
  node-shim run --url https://rollcall.example.com --join-token-file /etc/rollcall/join-token
  node-shim run --config /etc/rollcall/kubelet.yaml --log-format json

Reports go out every nodeStatusUpdateFrequency (10s) less 2 to 6 %, and at once when a threshold is crossed, when errors
of the runtime, the network or the storage come, go or change, and (with a shutdownGracePeriod) when the machine goes
down. After an error: at random, at most one interval apart. What it says goes to stderr: a line when something changed.

SIGTERM or SIGINT ends it within a second.`;

const UPGRADE_HELP = `
Examples:
  node-shim upgrade --check
  node-shim upgrade
  systemctl enable --now rollcall-node-shim-upgrade.timer

The last one has systemd do it once an hour or two. Which machines may have a version is the operator's to say, by a rollout;
where there is none, nothing happens. The package comes from the apt repository of this machine's sources, by whose signature
apt takes it; a version that is older than the one that runs is never installed.

With --check as well, the rollout counts this machine as one that was given the version.

The service is restarted with the new version. Where the Worker has not answered that within 3 minutes, the former one is
installed again, and the new one is not tried again for a day.

Exit codes: 0 upgraded, or nothing to do; 1 not upgraded, or gone back: the last line says why, and what to do.`;

const LEAVE_EXAMPLE = `
Example, of a machine with the service:
  systemctl stop ${UNIT} && node-shim leave && node-shim uninstall-service

In this order: leave sees the URL, the proxy and the authorities of the service while that is installed.`;

// One line on a terminal that says what is waited for, and goes away. Elsewhere nothing is written.

interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write: (text: string) => unknown;
}

const CLEAR = "\r\u{1B}[K";

/** `stream` is typically process.stderr. */
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
    // A line that wraps could not be cleared.
    show: (text) => put((before + text).slice(0, (stream.columns ?? 80) - 1)),
    clear: () => put(""),
  };
}

// node-shim rotate: has a next key pinned for this machine. The shim signs with it from its next start on, and its
// first report ends the old key.

const DEADLINE_MS = 10_000;

/** Returns what was done, in one line. Throws with what to do; it can be tried again, with the same next key. */
function rotateKey(flags: EnrolledFlags): Promise<string> {
  return asEnrolled(flags, DEADLINE_MS, "join first", async (machine, { send }) => {
    const { name, origin } = machine;
    const next = (await loadNextKey(flags.state)) ?? (await makeNextKey(flags.state));
    const { thumbprint } = next.key;
    if (!next.enrolment) {
      const outcome = await rotate(send, machine, next.key);
      if (!outcome.ok) {
        throw new Error(
          `not rotated: ${requestFaultText(outcome.error)}; the key is the one before, try again`,
        );
      }
      storeNextEnrolment(flags.state, next.key, { name, thumbprint, kid: outcome.value.kid, origin });
    }
    return `${name} has the next key ${thumbprint}: start the shim again, its first report ends the key before`;
  });
}
