// The operator's command line as a whole: every command with its flags and help.
import { CommanderError } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { VERSION } from "../../shared/version.ts";
import { actCommands } from "./act-commands.ts";
import { fail } from "./answer.ts";
import { backupCommands } from "./backup-commands.ts";
import { complete, completionCommand } from "./completion.ts";
import { contextCommands } from "./contexts/context-commands.ts";
import { administrationCommands, originCommands } from "./deployment-commands.ts";
import { explainCommand } from "./explain-command.ts";
import { EXIT_CODES } from "./fault.ts";
import { nodesCommand } from "./fleet/nodes-command.ts";
import { outagesCommand } from "./fleet/outages-command.ts";
import { repairCommand } from "./fleet/repair-command.ts";
import { rolloutCommands } from "./fleet/rollout-command.ts";
import { versionsCommand } from "./fleet/versions-command.ts";
import { watchCommand } from "./fleet/watch-command.ts";
import { impactCommand } from "./impact-command.ts";
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
import { sessionCommands } from "./session-commands.ts";
import { readyCommand, statusCommand } from "./status-command.ts";
import { tokenCommands } from "./token-commands.ts";
import { uninstallCommand } from "./uninstall/uninstall-command.ts";

const HELP = `
Which Worker, and who asks: --context NAME or --url, else ROLLCALL_URL, else the context in use.
  rollcall context add prod --url https://rollcall.example.com --secret-file FILE
With npm start: --state .rollcall

Environment:
  ROLLCALL_URL, ROLLCALL_CONTEXT          the Worker: https://rollcall.example.com; or a context's name
  ROLLCALL_SECRET, ROLLCALL_SECRET_FILE   an operator's secret (to look, the view secret is enough), or its file
  CF_ACCESS_CLIENT_ID, CF_ACCESS_CLIENT_SECRET   a service token, where Cloudflare Access stands before the Worker
  NO_COLOR                                no colours

Exit codes:
  0  done
  1  tried, and failed; or what was looked at does not work, or would break
  2  the command line, the environment or the configuration is wrong
  3  not found
  4  refused: these credentials do not do, or not for this
  5  the Worker, or the cluster, cannot be reached
  6  what was waited for has not come in time

More Nodes in a cluster: what they would do to it, before it happens:
  rollcall impact --machines 300

A machine joins in three steps: mint a token, hand it over, and on the machine:
  rollcall token create --names edge-7 > join-token
  node-shim join --url https://rollcall.example.com --join-token-file join-token --install-service

A machine's Node is not as it should be: look at the Worker first, then at the machine, then at what has changed:
  rollcall ready
  rollcall node edge-7
  rollcall node history edge-7

A second machine that asks for a name that is taken waits. Look at both, then decide by the key:
  rollcall approvals
  rollcall approve edge-7 KEY

A machine whose key reports from several places is cloned, and no report of it counts. See who they are, give the
copy an empty state folder and a token of its own, then end it:
  rollcall node clones edge-7
  rollcall believe edge-7

A domain changes in three steps: add the new origin to ORIGINS, have the machines report by it (--url), and take the old
one away when none is left that reports by it:
  rollcall origin list
  rollcall origin machines https://old.example.com`;

export function operatorProgram(surroundings: Surroundings): OperatorProgram {
  const program = withCommonFlags(new OperatorProgram(surroundings))
    .description("Machines and their Nodes, join tokens, who did what, and whether the deployment works.")
    .version(`rollcall ${VERSION}`, "-V, --version", "print the version")
    .addHelpText("after", HELP);

  nodesCommand(program);
  nodeCommands(program);
  historyCommand(program);
  outagesCommand(program);
  versionsCommand(program);
  rolloutCommands(program);
  watchCommand(program);
  actCommands(program);
  tokenCommands(program);
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
  explainCommand(program);
  completionCommand(program);
  passOnCommonFlags(program);
  return program;
}

/** What shells ask for. No command of the program's: what comes behind it is a command line itself. */
export const COMPLETE = "__complete";

/** `args` are typically those of this process, behind the program. The exit code is set where it is not 0. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const program = operatorProgram(surroundings);
  try {
    if (args[0] === COMPLETE) await complete(program, args.slice(1));
    else await program.parseAsync(withThumbprintsLast(args), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(program, { reason: "failed", says: faultOf(error) });
    else if (error.exitCode !== 0) surroundings.process.exitCode = EXIT_CODES.usage;
  }
}

/** One key in 64 has a thumbprint that begins like a flag; it is always the last operand. */
function withThumbprintsLast(args: readonly string[]): string[] {
  const isThumbprint = (text: string) => /^-[\w-]{42}$/.test(text);
  const thumbprints = args.filter(isThumbprint);
  if (thumbprints.length === 0) return [...args];
  return [...args.filter((text) => !isThumbprint(text)), "--", ...thumbprints];
}
