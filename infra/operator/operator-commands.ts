// Runs rollcall operators …: manages operators with a name, a role and a secret of their own.
import { Argument, type Command, Option } from "commander";
import {
  createdOperatorSchema,
  type ListedOperator,
  operatorsSchema,
} from "../../shared/protocol/administration-answers.ts";
import { answer, done, fail, shown } from "./answer.ts";
import { fault } from "./fault.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";
import { positiveDuration } from "./flag-values.ts";
import { makeQuestionKey, publicLine, readQuestionKey } from "./question-key.ts";

const HELP = `
add prints the secret once and nothing else, so that you can redirect it into a file. The audit log has the operator's name.

Examples:
  rollcall operators add alice --role admin --expires-in 90d > alice-secret
  rollcall operators add bob --role operator --expires-in 30d > bob-secret
  rollcall operators add berlin --role operator -l site=berlin > berlin-secret
  rollcall operators add prometheus --role metrics --expires-in 365d
  rollcall operators revoke alice`;

const COLUMNS: readonly TableColumn<ListedOperator>[] = [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "ROLE", of: ({ role }) => role, rank: 0 },
  {
    head: "STATE",
    of: ({ state }) => state,
    rank: 0,
    paint: ({ state }) => (state === "valid" ? "green" : "faint"),
  },
  { head: "LAST USED", of: ({ lastUsedAt }) => lastUsedAt ?? "never", rank: 2 },
  { head: "EXPIRES", of: ({ expiresAt }) => expiresAt, rank: 1 },
  { head: "SELECTOR", of: ({ selector }) => selector ?? "", rank: 1 },
  { head: "CREATED", of: ({ createdAt }) => createdAt, rank: 4 },
  { head: "BY", of: ({ createdBy }) => createdBy, rank: 3 },
];

export function operatorCommands(program: OperatorProgram): void {
  const operators = program
    .command("operators")
    .description("Operators: people and programs with a role and a secret of their own.")
    .addHelpText("after", HELP);
  operators
    .command("list")
    .description(
      "List operators, sorted by name, with the time of each one's last request, accurate to an hour.",
    )
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/operators" },
        shown(operatorsSchema, (sent) =>
          listOf(sent.operators, () => COLUMNS, { nameOf: ({ name }) => name }),
        ),
      ),
    );
  addCommand(program, operators);
  keyCommand(program, operators);
  operators
    .command("revoke")
    .addArgument(new Argument("<operator>", "the operator's name"))
    .description("Revoke an operator. The Worker refuses the operator's secret everywhere within 10 seconds.")
    .action((name: string) => {
      const path = `/v1/operators/${encodeURIComponent(name)}` as const;
      return answer(
        program,
        { method: "DELETE", path, missing: `no operator ${name}` },
        done(`operator ${name} is revoked`),
      );
    });
}

const KEY_HELP = `
A machine whose owner has pinned the public line (node-shim run --questions-from FILE) answers only questions that this key
signs. The key never leaves the file. If the file exists already, the command prints its public line.

Examples:
  rollcall operators key ~/.config/rollcall/question-key --comment alice
  rollcall ask edge-7 disks --key ~/.config/rollcall/question-key`;

function keyCommand(program: OperatorProgram, operators: Command): void {
  operators
    .command("key <file>")
    .description("Make a key that signs your questions to machines, and print its public line.")
    .option("--comment <text>", "a text behind the key in the public line, such as your name", "")
    .addHelpText("after", KEY_HELP)
    .action(async (file: string, { comment }: { comment: string }) => {
      const made = await makeQuestionKey(file, comment);
      const key = made.ok ? await readQuestionKey(file) : made;
      if (!key.ok) return fail(program, fault("failed", key.error).error);
      program.surroundings.process.stdout.write(`${publicLine(key.value)}\n`);
      return undefined;
    });
}

interface NewOperatorFlags {
  role: string;
  selector?: string;
  expiresIn: number;
}

function addCommand(program: OperatorProgram, operators: Command): void {
  operators
    .command("add")
    .addArgument(new Argument("<operator>", "the operator's name"))
    .description("Create an operator and print only the secret, which the Worker never shows again.")
    .addOption(
      new Option(
        "--role <role>",
        "view may read, operator may also ask questions, try rules and end conditions of problem detectors, admin may also change, metrics may only read /metrics",
      )
        .choices(["view", "operator", "admin", "metrics"])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option("--expires-in <duration>", "the time for which the secret is valid: 90d; at most 365d")
        .argParser(positiveDuration)
        .default(90 * 86_400_000, "90d"),
    )
    .option(
      "-l, --selector <selector>",
      "the operator's machines, as kubectl's -l: site=berlin; all machines if absent",
    )
    .action((name: string, { role, selector, expiresIn }: NewOperatorFlags) =>
      answer(
        program,
        {
          method: "POST",
          path: "/v1/operators",
          body: {
            name,
            role,
            ...(selector !== undefined && { selector }),
            expiresInSeconds: Math.round(expiresIn / 1000),
          },
          typed: {
            name: "NAME",
            role: "--role",
            selector: "--selector",
            expiresInSeconds: "--expires-in",
          },
        },
        shown(createdOperatorSchema, ({ secret }) => textOf(() => `${secret}\n`)),
      ),
    );
}
