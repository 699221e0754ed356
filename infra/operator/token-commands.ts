// rollcall token …: join tokens.
import { type Command, Option } from "commander";
import { mintedTokenSchema, tokensSchema } from "../../shared/protocol/operator-answers.ts";
import { answer, done, shown } from "./answer.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { tokenList } from "./print.ts";
import { textOf } from "./render/shown.ts";
import {
  collect,
  label,
  movedLines,
  seconds,
  taint,
  type TokenFlags,
  tokenWish,
  TYPED,
  wholeNumber,
} from "./token-wish.ts";

export function tokenCommands(program: OperatorProgram): void {
  const token = program.command("token").description("Join tokens: what lets machines enrol.");
  createCommand(program, token);
  token
    .command("list")
    .description("All tokens, newest first; used+kept/uses counts machines.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/tokens" },
        shown(tokensSchema, ({ tokens }) => tokenList(tokens)),
      ),
    );
  token
    .command("revoke <id>")
    .description("Nobody enrols with it any more. Machines that did go on: revoke those by name.")
    .action((id: string) =>
      answer(
        program,
        { method: "DELETE", path: `/v1/tokens/${encodeURIComponent(id)}`, missing: `no token ${id}` },
        done(`token ${id} is revoked`),
      ),
    );
}

function createCommand(program: OperatorProgram, token: Command): void {
  token
    .command("create")
    .description("Mint a token and print it, once and alone, so that it can go into a file.")
    .requiredOption("--names <pattern>", "one Node's name, or a pattern: * stands for anything without a dot")
    .addOption(
      new Option("--expires-in <duration>", "how long machines may enrol with it: 90m, 24h, 7d")
        .argParser(seconds)
        .default(3600, "1h"),
    )
    .option("--uses <n>", "how many machines may enrol with it", wholeNumber, 1)
    .option("--label <key=value>", "a label that its Nodes have, whatever a machine says; repeatable", label)
    .option("--taint <key=value:effect>", "a taint that its Nodes are created with; repeatable", taint)
    .option("--role <name>", "a role of its Nodes, instead of NODE_ROLE's; '' for none; repeatable", collect)
    .option(
      "--may-label <key>",
      "a label that a machine may set, example.com/* for many, '' for none; repeatable",
      collect,
    )
    .option("--may-taint <key>", "a taint that a machine may set, as above; repeatable", collect)
    .option("--may-condition <type>", "a condition that its drop-ins may set, as above; repeatable", collect)
    .option(
      "--may-resource <name>",
      "an extended resource that it may announce, as above; repeatable",
      collect,
    )
    .option(
      "--may-address <cidr>",
      "a range that its Node's addresses are in: 10.0.0.0/8; repeatable",
      collect,
    )
    .option("--may-cloud <id>", "a provider ID that it may have: aws:///eu-west-1a/*; repeatable", collect)
    .option("--rejoin", "take the name over from the machine that has it (one name, one use)")
    .option(
      "--without-facts-only-taint",
      "its machines may replace rollcall.dev/facts-only by their own taints",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  token create --names 'edge-*' --uses 50 --expires-in 7d --label site=north\n  token create --names edge-7 --rejoin",
    )
    .action((flags: TokenFlags) => {
      const { stderr } = program.surroundings.process;
      for (const line of movedLines(flags)) stderr.write(`${line}\n`);
      return answer(
        program,
        { method: "POST", path: "/v1/tokens", body: tokenWish(flags), typed: TYPED },
        shown(mintedTokenSchema, (minted) => textOf(() => `${minted.token}\n`)),
      );
    });
}
