// npm run rollcall: the operator's command line. Reads flags, asks the Worker, prints its answer.
import { Command } from "commander";
import { faultOf } from "../../node-shim/base/fault.ts";
import { ask, connectionOf } from "./client.ts";
import {
  auditTable,
  historyTable,
  type ListedEntry,
  type ListedOrigin,
  type ListedPending,
  type ListedSenders,
  originMachineTable,
  originTable,
  pendingTable,
  sendersTable,
  tokenTable,
} from "./print.ts";
import { collect, label, seconds, taint, type TokenFlags, tokenWish, wholeNumber } from "./token-wish.ts";

const HELP = `
Environment:
  ROLLCALL_URL                 the Worker: https://rollcall.example.com
  ROLLCALL_ADMIN_SECRET        the admin secret (to look, the view secret is enough), or
  ROLLCALL_ADMIN_SECRET_FILE   a file that holds it
  CF_ACCESS_CLIENT_ID, CF_ACCESS_CLIENT_SECRET   a service token, where Cloudflare Access stands before the Worker

Exit codes: 0 done, 1 the Worker refused or cannot be reached, 2 the command line is wrong.

A machine joins in three steps: mint a token, hand it over, run the shim with it:
  npm run --silent rollcall -- token create --names edge-7 > token
  node-shim run --url https://rollcall.example.com --join-token-file token

A second machine that asks for a name that is taken waits. Look at both, then decide by the key:
  npm run --silent rollcall -- node pending
  npm run --silent rollcall -- node approve edge-7 KEY

A machine whose key reports from several places is cloned, and nothing of it is believed. See who they are, give the
copy an empty state folder and a token of its own, then end it:
  npm run --silent rollcall -- node clones edge-7
  npm run --silent rollcall -- node believe edge-7

A domain changes in three steps: add the new origin to ORIGINS, have the machines report by it (--url), and take the old
one away when none is left that reports by it:
  npm run --silent rollcall -- origin list
  npm run --silent rollcall -- origin machines https://old.example.com

With npm start: --url as it prints, --secret-file .rollcall/admin-secret`;

interface Flags {
  url?: string;
  secretFile?: string;
  json?: boolean;
}

const program = new Command("rollcall")
  .description("Join tokens, machines that wait, revocation, and who did what.")
  .option("--url <origin>", "the Worker, instead of ROLLCALL_URL")
  .option("--secret-file <file>", "holds the admin secret, instead of ROLLCALL_ADMIN_SECRET")
  .option("--json", "print the Worker's answer as JSON")
  .addHelpText("after", HELP)
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

type Method = Parameters<typeof ask>[1];

/** Asks, and prints the answer: as JSON, or as `show` makes it. */
async function answer(
  method: Method,
  path: string,
  { body, show }: { body?: unknown; show: (answer: never) => string },
): Promise<void> {
  const flags = program.opts<Flags>();
  const answered = await ask(connectionOf(flags, process.env), method, path, body);
  process.stdout.write(flags.json ? `${JSON.stringify(answered, null, 2)}\n` : show(answered as never));
}

const said = (text: string) => () => `${text}\n`;
const nodePath = (name: string, action = "") => `/v1/nodes/${encodeURIComponent(name)}${action}`;

const token = program.command("token").description("Join tokens: what lets machines enrol.");
token
  .command("create")
  .description("Mint a token and print it, once and alone, so that it can go into a file.")
  .requiredOption("--names <pattern>", "one Node's name, or a pattern: * stands for anything without a dot")
  .option("--expires <duration>", "how long machines may enrol with it", seconds, 3600)
  .option("--uses <n>", "how many machines may enrol with it", wholeNumber, 1)
  .option("--label <key=value>", "a label that its Nodes are created with; repeatable", label)
  .option("--taint <key=value:effect>", "a taint that its Nodes are created with; repeatable", taint)
  .option(
    "--may-label <key>",
    "a label that a machine may set, example.com/* for many, '' for none; repeatable",
    collect,
  )
  .option("--may-taint <key>", "a taint that a machine may set, as above; repeatable", collect)
  .option("--rejoin", "take the name over from the machine that has it (one name, one use)")
  .option(
    "--without-facts-only-taint",
    "its machines may replace rollcall.dev/facts-only by their own taints",
  )
  .addHelpText(
    "after",
    "\nExamples:\n  token create --names 'edge-*' --uses 50 --expires 24h --label site=north\n  token create --names edge-7 --rejoin",
  )
  .action((flags: TokenFlags) =>
    answer("POST", "/v1/tokens", {
      body: tokenWish(flags),
      show: ({ token }: { token: string }) => `${token}\n`,
    }),
  );
token
  .command("list")
  .description("All tokens, newest first; used+kept/uses counts machines.")
  .action(() =>
    answer("GET", "/v1/tokens", {
      show: ({ tokens }: { tokens: Parameters<typeof tokenTable>[0] }) => tokenTable(tokens),
    }),
  );
token
  .command("revoke <id>")
  .description("Nobody enrols with it any more. Machines that did go on: revoke those by name.")
  .action((id: string) =>
    answer("DELETE", `/v1/tokens/${encodeURIComponent(id)}`, { show: said(`token ${id} is revoked`) }),
  );

const node = program.command("node").description("Machines, by their Node's name.");
node
  .command("pending")
  .description("Machines that wait for a name that another machine has, and what is known of both.")
  .action(() =>
    answer("GET", "/v1/pending", {
      show: ({ pending }: { pending: ListedPending[] }) => pendingTable(pending),
    }),
  );
const byKey = (action: "approve" | "reject", description: string, done: string) =>
  node
    .command(`${action} <name> <key>`)
    .description(description)
    .action((name: string, thumbprint: string) =>
      answer("POST", nodePath(name, `/${action}`), {
        body: { thumbprint },
        show: said(`${name}: key ${thumbprint} ${done}`),
      }),
    );
byKey(
  "approve",
  "Give the name to the machine that waits with this key; the one before loses it for ever.",
  "has the name",
);
byKey("reject", "Refuse this key for ever.", "is refused for ever");
node
  .command("revoke <name>")
  .description("Refuse all keys of this name for ever. Its Node stays, and goes NotReady; then see forget.")
  .action((name: string) =>
    answer("POST", nodePath(name, "/revoke"), { show: said(`${name}: its keys are refused for ever`) }),
  );
node
  .command("forget <name>")
  .description(
    "Remove lease and Node from the cluster, and forget the machine; its keys are refused for ever.",
  )
  .action((name: string) =>
    answer("DELETE", nodePath(name), { show: said(`${name}: removed and forgotten`) }),
  );
node
  .command("register <name>")
  .description("Have the next report register the Node again, also one that somebody deleted.")
  .action((name: string) =>
    answer("POST", nodePath(name, "/register"), { show: said(`${name}: registers with its next report`) }),
  );
node
  .command("clones <name>")
  .description("Who has reported with this machine's key of late, newest first, and whether several do.")
  .action((name: string) =>
    answer("GET", nodePath(name, "/clones"), { show: (listed: ListedSenders) => sendersTable(listed) }),
  );
node
  .command("believe <name>")
  .description("One machine alone has the key again: end `cloned` or `two shims` now, not after an hour.")
  .action((name: string) =>
    answer("POST", nodePath(name, "/believe"), { show: said(`${name}: believed with its next report`) }),
  );
node
  .command("history <name>")
  .description("What changed on this machine, oldest first.")
  .option("--limit <n>", "at most so many entries", wholeNumber, 100)
  .action((name: string, { limit }: { limit: number }) =>
    answer("GET", nodePath(name, `/history?limit=${limit}`), {
      show: ({ entries }: { entries: ListedEntry[] }) => historyTable(entries),
    }),
  );

const origin = program
  .command("origin")
  .description("The origins by which machines report: may one be given up?");
origin
  .command("list")
  .description("How many machines report by each now, and when one did last, to within a day.")
  .action(() =>
    answer("GET", "/v1/origins", {
      show: ({ origins }: { origins: ListedOrigin[] }) => originTable(origins),
    }),
  );
origin
  .command("machines <origin>")
  .description("Which machines report by this origin, by name.")
  .option("--limit <n>", "at most so many", wholeNumber, 100)
  .option("--after <name>", "only names behind this one: the next page", "")
  .action((origin: string, { limit, after }: { limit: number; after: string }) => {
    const query = new URLSearchParams({ origin, limit: String(limit), after });
    return answer("GET", `/v1/origins/machines?${query.toString()}`, {
      show: ({ machines }: { machines: Parameters<typeof originMachineTable>[0] }) =>
        originMachineTable(machines),
    });
  });

program
  .command("audit")
  .description("Who changed what, oldest first.")
  .option("--limit <n>", "at most so many entries", wholeNumber, 100)
  .action(({ limit }: { limit: number }) =>
    answer("GET", `/v1/audit?limit=${limit}`, {
      show: ({ entries }: { entries: ListedEntry[] }) => auditTable(entries),
    }),
  );

/** One key in 64 has a thumbprint that begins like a flag; it is always the last operand. */
function withThumbprintsLast(args: string[]): string[] {
  const isThumbprint = (text: string) => /^-[\w-]{42}$/.test(text);
  const thumbprints = args.filter(isThumbprint);
  if (thumbprints.length === 0) return args;
  return [...args.filter((text) => !isThumbprint(text)), "--", ...thumbprints];
}

try {
  await program.parseAsync(withThumbprintsLast(process.argv.slice(2)), { from: "user" });
} catch (error) {
  console.error(`rollcall: ${faultOf(error)}`);
  process.exitCode = 1;
}
