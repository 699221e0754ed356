// Makes the whole command line of the operator, with the flags and help of every command, and runs a command line.
import { CommanderError } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { printable } from "../../shared/protocol/printable.ts";
import { VERSION } from "../../shared/version.ts";
import { actCommands } from "./act-commands.ts";
import { fail } from "./answer.ts";
import { askCommands } from "./ask-commands.ts";
import { backupCommands } from "./backup-commands.ts";
import { complete, completionCommand } from "./completion.ts";
import { contextCommands } from "./contexts/context-commands.ts";
import { costCommand } from "./cost-command.ts";
import { administrationCommands, originCommands } from "./deployment-commands.ts";
import { explainCommand } from "./explain-command.ts";
import { EXIT_CODES } from "./fault.ts";
import { nodesCommand } from "./fleet/nodes-command.ts";
import { outagesCommand } from "./fleet/outages-command.ts";
import { repairCommand } from "./fleet/repair-command.ts";
import { rolloutCommands } from "./fleet/rollout-command.ts";
import { topCommand } from "./fleet/top-command.ts";
import { versionsCommand } from "./fleet/versions-command.ts";
import { watchCommand } from "./fleet/watch-command.ts";
import { impactCommand } from "./impact-command.ts";
import { kubectlTopCommands } from "./kubectl-top-commands.ts";
import { auditCommand, clusterCommand, historyCommand } from "./log-commands.ts";
import { muteCommands } from "./mute-commands.ts";
import { nodeCommands } from "./node-commands.ts";
import { operatorCommands } from "./operator-commands.ts";
import {
  OperatorProgram,
  passOnCommonFlags,
  type Surroundings,
  withCommonFlags,
} from "./operator-program.ts";
import { receiverCommands } from "./receiver-commands.ts";
import { rulesCommands } from "./rules/rules-commands.ts";
import { screenOf, screenText } from "./render/terminal.ts";
import { sessionCommands } from "./session-commands.ts";
import { readyCommand, statusCommand } from "./status-command.ts";
import { tokenCommands } from "./token-commands.ts";
import { uninstallCommand } from "./uninstall/uninstall-command.ts";

const HELP = `
A command needs a Worker and credentials: those of --context NAME or --url, else of ROLLCALL_URL, else of the current context.
  rollcall context add prod --url https://rollcall.example.com --secret-file FILE
For the local cluster of npm start, pass --state .rollcall

Environment:
  ROLLCALL_URL, ROLLCALL_CONTEXT          the Worker: https://rollcall.example.com; or a context's name
  ROLLCALL_SECRET, ROLLCALL_SECRET_FILE   an operator's secret (the view secret is enough to read), or its file
  CF_ACCESS_CLIENT_ID, CF_ACCESS_CLIENT_SECRET   a service token, if the Worker is behind Cloudflare Access
  NO_COLOR                                no colours

Exit codes:
  0  done
  1  failed; or a check found something broken, or something that would break
  2  the command line, the environment or the configuration is wrong
  3  not found
  4  refused: these credentials are not valid, or not for this action
  5  the Worker or the cluster cannot be reached
  6  the time of --for is over before the wanted state came

To see what more Nodes would do to a cluster, and what they cost a month, before you add them:
  rollcall impact --machines 300
  rollcall cost --machines 300

To add a machine, create a join token, copy it to the machine, and run node-shim join there:
  rollcall token create --names edge-7 > join-token
  node-shim join --url https://rollcall.example.com --join-token-file join-token --install-service

To find out why a Node is not ready, check the Worker, then the machine, then what has changed:
  rollcall ready
  rollcall node edge-7
  rollcall node history edge-7

A machine that asks for another machine's name waits for you. Compare both, then decide by the key:
  rollcall approvals
  rollcall approve edge-7 KEY

If several copies of a machine report with one key, the machine is cloned, and the Worker uses none of their reports. List the
copies, give each but one an empty state folder and a join token of its own, then trust the one that is left:
  rollcall node clones edge-7
  rollcall trust edge-7

To move to a new domain, add its origin to ORIGINS, let the machines report to it (--url), and remove the old origin when no
machine reports to it any more:
  rollcall origin list
  rollcall origin machines https://old.example.com`;

export function operatorProgram(surroundings: Surroundings): OperatorProgram {
  const program = withCommonFlags(new OperatorProgram(surroundings))
    .description("Shows and changes machines, their Nodes, join tokens, the audit log and the deployment.")
    .version(`rollcall ${VERSION}`, "-V, --version", "print the version")
    .addHelpText("after", HELP);

  nodesCommand(program);
  nodeCommands(program);
  topCommand(program);
  kubectlTopCommands(program);
  askCommands(program);
  historyCommand(program);
  outagesCommand(program);
  versionsCommand(program);
  rolloutCommands(program);
  watchCommand(program);
  actCommands(program);
  tokenCommands(program);
  rulesCommands(program);
  operatorCommands(program);
  sessionCommands(program);
  receiverCommands(program);
  muteCommands(program);
  auditCommand(program);
  administrationCommands(program);
  statusCommand(program);
  readyCommand(program);
  repairCommand(program);
  backupCommands(program);
  clusterCommand(program);
  impactCommand(program);
  originCommands(program);
  contextCommands(program);
  uninstallCommand(program);
  costCommand(program);
  explainCommand(program);
  completionCommand(program);
  passOnCommonFlags(program);
  return program;
}

/** The command that shells run to complete a command line: `rollcall __complete WORDS`. */
export const COMPLETE = "__complete";

/** Runs a command line. A failure becomes one line and an exit code. `args`: process.argv without the program. */
export async function runCommandLine(args: readonly string[], outside: Surroundings): Promise<void> {
  const surroundings = withPrintableOutput(outside);
  const program = operatorProgram(surroundings);
  try {
    if (args[0] === COMPLETE) await complete(program, args.slice(1));
    else await program.parseAsync(withFoldersFirst(withThumbprintsLast(args)), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(program, { reason: "failed", message: faultOf(error) });
    else if (error.exitCode !== 0) surroundings.process.exitCode = EXIT_CODES.usage;
  }
}

/** Returns surroundings in which commands write and ask only printable texts. */
function withPrintableOutput({ process, terminal, ...others }: Surroundings): Surroundings {
  const { stdout, stderr } = process;
  const screen = screenOf(stdout, process.env);
  const printing = (stream: { write: (text: string) => unknown }) => ({
    write: (text: string) => stream.write(screenText(text, screen)),
  });
  return {
    ...others,
    progress: progressOn(stderr, others.now),
    process: {
      env: process.env,
      stdout: {
        ...printing(stdout),
        isTTY: stdout.isTTY,
        get columns() {
          return stdout.columns;
        },
      },
      stderr: printing(stderr),
      set exitCode(code: number) {
        process.exitCode = code;
      },
    },
    terminal: { ...terminal, ask: (question) => terminal.ask(screenText(question, screen)) },
  };
}

/** Milliseconds between two lines of progress in a log. */
const LOGGED_EVERY_MS = 60_000;

/** Returns a function that replaces the line of progress on a terminal. In a log, it writes a line each minute. */
function progressOn(stderr: Surroundings["process"]["stderr"], now: () => number): (text: string) => void {
  let loggedMs = now();
  return (text) => {
    const line = printable(text);
    if (stderr.isTTY) stderr.write(`\r\u001B[K${line}`);
    else if (line !== "" && now() - loggedMs >= LOGGED_EVERY_MS) {
      loggedMs = now();
      stderr.write(`${line}\n`);
    }
  };
}

/**
 * Returns the arguments with each `--state FOLDER` before the command, where it names the Worker of npm start. Filters
 * have a flag of this name as well, but no state has a slash or begins with a dot.
 */
function withFoldersFirst(args: readonly string[]): string[] {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const isFolder = (text = "") => /^\.|\//.test(text);
  const isMoved = args.map((word, at) => {
    if (at >= end) return false;
    if (word === "--state") return isFolder(args[at + 1]);
    return isFolder(args[at - 1] === "--state" ? word : /^--state=(.*)/.exec(word)?.[1]);
  });
  return [...args.filter((_, at) => isMoved[at]), ...args.filter((_, at) => !isMoved[at])];
}

/** Returns the arguments with a thumbprint moved behind `--`, since one in 64 begins with `-` like a flag. */
function withThumbprintsLast(args: readonly string[]): string[] {
  const isThumbprint = (text: string) => /^-[\w-]{42}$/.test(text);
  const thumbprints = args.filter(isThumbprint);
  if (thumbprints.length === 0) return [...args];
  return [...args.filter((text) => !isThumbprint(text)), "--", ...thumbprints];
}
