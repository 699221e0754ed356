// Runs rollcall token …: creates, lists and revokes join tokens.
import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../../shared/go/duration.ts";
import { movedTo } from "../../shared/node/ownership.ts";
import type { TokenRequest } from "../../shared/protocol/join-tokens.ts";
import { TOKEN_LIMITS } from "../../shared/protocol/limits.ts";
import { type ListedToken, mintedTokenSchema, tokensSchema } from "../../shared/protocol/operator-answers.ts";
import { valueOr } from "../../shared/result.ts";
import { answer, answerList, done, shown } from "./answer.ts";
import { wholeNumber } from "./flag-values.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { listOf, type Shown, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const HELP = `
Examples:
  rollcall token create --names 'edge-*' --uses 50 --expires-in 7d --label site=north
  rollcall token create --names edge-7 --rejoin`;

export function tokenCommands(program: OperatorProgram): void {
  const token = program.command("token").description("Join tokens, with which machines enrol.");
  createCommand(program, token);
  token
    .command("list")
    .description(
      "List join tokens, newest first. USED has the number of enrolled machines, of waiting machines, and of allowed machines.",
    )
    .action(() =>
      answerList(
        program,
        "/v1/tokens",
        "tokens",
        shown(tokensSchema, ({ tokens }) => tokenList(tokens)),
      ),
    );
  token
    .command("revoke <id>")
    .description(
      "Revoke a join token: no machine can enrol with it any more. Enrolled machines continue; revoke such machines by name.",
    )
    .action((id: string) =>
      answer(
        program,
        { method: "DELETE", path: `/v1/tokens/${encodeURIComponent(id)}`, missing: `no token ${id}` },
        done(`token ${id} is revoked`),
      ),
    );
}

function createCommand(program: OperatorProgram, token: Command): void {
  const create = token
    .command("create")
    .description("Create a join token and print only the token, so that you can redirect it into a file.")
    .requiredOption(
      "--names <pattern>",
      "the names that the token allows: one name, or a pattern (* matches any text without a dot)",
    )
    .addOption(
      new Option(
        "--expires-in <duration>",
        "the time for which machines may enrol with the token: 90m, 24h, 7d",
      )
        .argParser(seconds)
        .default(3600, "1h"),
    )
    .option("--uses <n>", "the number of machines that may enrol with the token", wholeNumber, 1);
  nodeOptions(create)
    .option("--rejoin", "let the machine take over a name that another machine has (one name, one use)")
    .option(
      "--without-facts-only-taint",
      "let a machine replace the taint rollcall.dev/facts-only by its own taints",
    )
    .addHelpText("after", HELP)
    .action((flags: TokenFlags) => {
      const { stderr } = program.surroundings.process;
      for (const line of movedLines(flags)) stderr.write(`${line}\n`);
      return answer(
        program,
        { method: "POST", path: "/v1/tokens", body: tokenRequest(flags), typed: TYPED },
        shown(mintedTokenSchema, (minted) => textOf(() => `${minted.token}\n`)),
      );
    });
}

/** Adds the options that decide on the machines' Nodes. */
function nodeOptions(command: Command): Command {
  return command
    .option(
      "--label <key=value>",
      "a label of the machines' Nodes, which machines cannot change; repeatable",
      label,
    )
    .option(
      "--taint <key=value:effect>",
      "a taint that the machines' Nodes get when they are created; repeatable",
      taint,
    )
    .option(
      "--role <name>",
      "a role of the machines' Nodes, instead of NODE_ROLE; '' for none; repeatable",
      collect,
    )
    .option(
      "--may-label <key>",
      "the key of a label that a machine may set; example.com/* for all such keys, '' for none; repeatable",
      collect,
    )
    .option(
      "--may-feature <name>",
      "a feature's label that a machine may have: pci-10de.present, cpu-* or *; for nfd-master also a feature: pci.device; repeatable",
      collect,
    )
    .option(
      "--may-taint <key>",
      "the key of a taint that a machine may set, in the form of --may-label; repeatable",
      collect,
    )
    .option(
      "--may-condition <type>",
      "a condition that a machine may set, or the reason of a problem's event, in the form of --may-label; repeatable",
      collect,
    )
    .option(
      "--may-resource <name>",
      "an extended resource that a machine may report, in the form of --may-label; repeatable",
      collect,
    )
    .option(
      "--may-address <range>",
      "a range of a machine's addresses, 10.0.0.0/8, or an ending of its DNS names, .shop.example.com; '*' for all; replaces the private ranges; repeatable",
      collect,
    )
    .option(
      "--may-cloud <id>",
      "a provider ID that a machine may have: aws:///eu-west-1a/*; repeatable",
      collect,
    )
    .option("--no-questions", "let no operator ask the machines questions, whatever their owners turn on")
    .option("--may-all", "let a machine set everything that no other --may flag of the command limits");
}

const TOKEN_COLUMNS: readonly TableColumn<ListedToken>[] = [
  { head: "ID", of: ({ id }) => id, rank: 0 },
  {
    head: "NAMES",
    of: ({ names, rejoin, namesBelow, note }) =>
      names +
      (rejoin ? " (rejoin)" : "") +
      (namesBelow ? " (any DNS name below it)" : "") +
      (note ? " (without limits)" : ""),
    rank: 1,
  },
  { head: "STATE", of: ({ state }) => state, rank: 2 },
  {
    head: "USED",
    of: ({ used, reserved, uses }) => `${used}${reserved > 0 ? `+${reserved}` : ""}/${uses}`,
    rank: 3,
  },
  { head: "ROLES", of: ({ roles }) => (roles === undefined ? "" : roles.join(",") || "<none>"), rank: 6 },
  { head: "EXPIRES", of: ({ expiresAt }) => expiresAt, rank: 4 },
  { head: "BY", of: ({ createdBy }) => createdBy, rank: 5 },
];

export const tokenList = (tokens: readonly ListedToken[]): Shown =>
  listOf(tokens, () => TOKEN_COLUMNS, { nameOf: ({ id }) => id });

const DAY_SECONDS = 86_400;

interface TokenFlags {
  names: string;
  /** Seconds until the token expires. */
  expiresIn: number;
  uses: number;
  rejoin?: boolean;
  withoutFactsOnlyTaint?: boolean;
  label?: Record<string, string>;
  taint?: NonNullable<TokenRequest["taints"]>;
  role?: string[];
  mayLabel?: string[];
  mayFeature?: string[];
  mayTaint?: string[];
  mayCondition?: string[];
  mayResource?: string[];
  mayAddress?: string[];
  mayCloud?: string[];
  mayAll?: boolean;
  /** false with --no-questions. */
  questions?: boolean;
}

/** The flags that list what a machine may set. The single value "" is an empty list and allows nothing. */
const MAY = [
  "mayLabel",
  "mayFeature",
  "mayTaint",
  "mayCondition",
  "mayResource",
  "mayAddress",
  "mayCloud",
] as const;

export function tokenRequest(flags: TokenFlags): Partial<TokenRequest> {
  const { names, expiresIn, uses, rejoin, withoutFactsOnlyTaint, label, taint, role } = flags;
  return {
    names,
    expiresInSeconds: expiresIn,
    uses,
    ...(rejoin && { rejoin }),
    ...(withoutFactsOnlyTaint && { withoutFactsOnlyTaint }),
    ...(label && { labels: label }),
    ...(taint && { taints: taint }),
    ...(role && { roles: patterns(role) }),
    mayAll: flags.mayAll === true,
    ...(flags.questions === false && { mayBeAsked: false }),
    ...Object.fromEntries(MAY.flatMap((may) => (flags[may] ? [[may, patterns(flags[may])]] : []))),
  };
}

/** Returns a notice for each label that rollcall's Nodes have under another key. */
export function movedLines({ label = {}, withoutFactsOnlyTaint }: TokenFlags): string[] {
  return Object.keys(label).flatMap((key) => {
    const own = movedTo(key);
    if (own === undefined) return [];
    const nodes = withoutFactsOnlyTaint
      ? "Nodes with the taint rollcall.dev/facts-only have"
      : "its Nodes have";
    return `${nodes} the label ${key} as ${own}: under that key no program counts them as places for pods`;
  });
}

/** The flag that sets each field of the request's body, for error messages. */
export const TYPED = {
  names: "--names",
  expiresInSeconds: "--expires-in",
  uses: "--uses",
  rejoin: "--rejoin",
  withoutFactsOnlyTaint: "--without-facts-only-taint",
  labels: "--label",
  taints: "--taint",
  roles: "--role",
  mayLabel: "--may-label",
  mayFeature: "--may-feature",
  mayTaint: "--may-taint",
  mayCondition: "--may-condition",
  mayResource: "--may-resource",
  mayAddress: "--may-address",
  mayCloud: "--may-cloud",
  mayAll: "--may-all",
  mayBeAsked: "--no-questions",
} satisfies Record<keyof TokenRequest, string>;

const patterns = (texts: string[]) => texts.filter((text) => text !== "");

/** Parses a flag's value as a duration in whole seconds. Throws if a token may not be valid for that long. */
export function seconds(text: string): number {
  const [, days, rest] = /^(?:(\d+)d)?(.*)$/.exec(text) ?? [];
  const restMs = rest === "" && days !== undefined ? 0 : valueOr(parseDuration(rest ?? ""), Number.NaN);
  const all = Number(days ?? 0) * DAY_SECONDS + restMs / 1000;
  if (Number.isSafeInteger(all) && all >= 1 && all <= TOKEN_LIMITS.expiresInSeconds) return all;
  const most = TOKEN_LIMITS.expiresInSeconds / DAY_SECONDS;
  throw new InvalidArgumentError(`must be a duration such as 90m, 24h or 7d; from 1s to ${most}d.`);
}

/** Parses `key=value` and returns the labels with it added. */
function label(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError("must read KEY=VALUE.");
  return { ...before, [key]: value };
}

/** Parses `key=value:Effect` or `key:Effect`, as kubectl writes a taint, and returns the taints with it added. */
function taint(text: string, before: TokenFlags["taint"] = []): NonNullable<TokenFlags["taint"]> {
  const [, key, value, effect] =
    /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text) ?? [];
  if (key === undefined || effect === undefined) {
    throw new InvalidArgumentError(
      "must read KEY=VALUE:EFFECT, with NoSchedule, PreferNoSchedule or NoExecute.",
    );
  }
  return [...before, { key, ...(value && { value }), effect: effect as "NoSchedule" }];
}

function collect(text: string, before: string[] = []): string[] {
  return [...before, text];
}
