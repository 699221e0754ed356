// The operator's command line as a whole: every command with its flags and help.
import { auditCommand } from "./audit-commands.ts";
import { clusterCommand } from "./cluster-command.ts";
import { nodeCommands } from "./node-commands.ts";
import { OperatorProgram, type Surroundings } from "./operator-program.ts";
import { originCommands } from "./origin-commands.ts";
import { readyCommand } from "./ready-command.ts";
import { tokenCommands } from "./token-commands.ts";

const HELP = `
Environment:
  ROLLCALL_URL                 the Worker: https://rollcall.example.com
  ROLLCALL_ADMIN_SECRET        the admin secret (to look, the view secret is enough), or
  ROLLCALL_ADMIN_SECRET_FILE   a file that holds it
  CF_ACCESS_CLIENT_ID, CF_ACCESS_CLIENT_SECRET   a service token, where Cloudflare Access stands before the Worker

Exit codes: 0 done, 1 the Worker refused, cannot be reached, or does not work (ready), 2 the command line is wrong.

A machine joins in three steps: mint a token, hand it over, and on the machine:
  npm run --silent rollcall -- token create --names edge-7 > join-token
  node-shim join --url https://rollcall.example.com --join-token-file join-token --install-service

A machine's Node is not as it should be: look at the Worker first, then at the machine, then at what has changed:
  npm run --silent rollcall -- ready
  npm run --silent rollcall -- node get edge-7
  npm run --silent rollcall -- node history edge-7

A second machine that asks for a name that is taken waits. Look at both, then decide by the key:
  npm run --silent rollcall -- node pending
  npm run --silent rollcall -- node approve edge-7 KEY

A machine whose key reports from several places is cloned, and no report of it counts. See who they are, give the
copy an empty state folder and a token of its own, then end it:
  npm run --silent rollcall -- node clones edge-7
  npm run --silent rollcall -- node believe edge-7

A domain changes in three steps: add the new origin to ORIGINS, have the machines report by it (--url), and take the old
one away when none is left that reports by it:
  npm run --silent rollcall -- origin list
  npm run --silent rollcall -- origin machines https://old.example.com

With npm start: --url as it prints, --secret-file .rollcall/admin-secret`;

export function operatorProgram(surroundings: Surroundings): OperatorProgram {
  const program = new OperatorProgram(surroundings)
    .description("Join tokens, machines, who did what, and whether the deployment works.")
    .option("--url <origin>", "the Worker, instead of ROLLCALL_URL")
    .option("--secret-file <file>", "holds the admin secret, instead of ROLLCALL_ADMIN_SECRET")
    .option("--json", "print the Worker's answer as JSON")
    .addHelpText("after", HELP);

  tokenCommands(program);
  nodeCommands(program);
  originCommands(program);
  auditCommand(program);
  readyCommand(program);
  clusterCommand(program);
  return program;
}
