// rollcall receivers …: who is told what goes wrong with machines, and how that fares.
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import {
  changedReceiverSchema,
  lettersSchema,
  type ListedLetter,
  type ListedReceiver,
  receiversSchema,
  type ReceiverTest,
  receiverTestSchema,
} from "../../shared/protocol/receiver-answers.ts";
import type { MessageFormat, ReceiverChange } from "../../shared/protocol/receiver-api.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { answer, connect, done, fail, type Show, shown } from "./answer.ts";
import { ask, readAnswer } from "./client.ts";
import { confirmed } from "./confirm.ts";
import { readPrivate } from "./contexts/secrets.ts";
import { fault } from "./fault.ts";
import { durationMs, wholeNumber } from "./flag-values.ts";
import { machinesOf, type ToldFlags, toldOf, TYPED_TOLD, withToldFlags } from "./fleet/filter-flags.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { ageOf } from "./render/age.ts";
import { listOf, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";
import { harmless } from "./render/terminal.ts";

const HELP = `
A new receiver's signing secret is printed once and alone, so that it can go into a file.

Examples:
  rollcall receivers add ops --to https://example.com/hook > ops-secret
  rollcall receivers add site-b --format slack --to-file slack-address -l site=b --outages-only
  rollcall receivers test site-b
  rollcall receivers letters site-b
  rollcall receivers resend site-b 17`;

const receiverColumns = (nowMs: number): readonly TableColumn<ListedReceiver>[] => [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "FORMAT", of: ({ format }) => format, rank: 4 },
  { head: "TO", of: ({ url }) => url, rank: 2, least: 16 },
  { head: "MACHINES", of: machinesOf, rank: 3, least: 12 },
  {
    head: "STATE",
    of: ({ failingSince }) => (failingSince === null ? "ok" : `failing ${ageOf(failingSince, nowMs)}`),
    raw: ({ failingSince }) => failingSince ?? "ok",
    rank: 0,
    paint: ({ failingSince }) => (failingSince === null ? "green" : "red"),
  },
  { head: "FIRING", of: ({ firing }) => String(firing), rank: 3 },
  { head: "WAITING", of: ({ waiting }) => String(waiting), rank: 1 },
  { head: "DEAD", of: ({ dead }) => String(dead), rank: 1 },
  { head: "ERROR", of: ({ error }) => error, rank: 5, least: 16 },
  { head: "STATES", of: ({ states }) => states.join(","), rank: 6, isWide: true },
  { head: "OUTAGES-ONLY", of: ({ outagesOnly }) => (outagesOnly ? "yes" : "no"), rank: 6, isWide: true },
  { head: "DELAY", of: ({ delaySeconds }) => `${delaySeconds}s`, rank: 6, isWide: true },
  {
    head: "REPEAT",
    of: ({ repeatMinutes }) => (repeatMinutes === 0 ? "never" : `${repeatMinutes}m`),
    rank: 6,
    isWide: true,
  },
  { head: "DROPPED", of: ({ dropped }) => String(dropped), rank: 6, isWide: true },
];

const letterColumns = (nowMs: number): readonly TableColumn<ListedLetter>[] => [
  { head: "ID", of: ({ id }) => String(id), rank: 0 },
  { head: "MADE", of: ({ madeAt }) => ageOf(madeAt, nowMs), raw: ({ madeAt }) => madeAt, rank: 1 },
  {
    head: "STATE",
    of: ({ state }) => state,
    rank: 0,
    paint: ({ state }) => (state === "dead" ? "red" : undefined),
  },
  { head: "ERROR", of: ({ error }) => error, rank: 1, least: 16 },
  { head: "BODY", of: ({ body }) => body, rank: 2, least: 24 },
];

export function receiverCommands(program: OperatorProgram): void {
  const receivers = program
    .command("receivers")
    .description("Who is told what goes wrong with machines, and that it is over.")
    .addHelpText("after", HELP);
  receivers
    .command("list")
    .description("All of them, by name, and how their letters fare.")
    .action(() =>
      answer(
        program,
        { method: "GET", path: "/v1/receivers" },
        shown(receiversSchema, (sent) =>
          listOf(sent.receivers, receiverColumns, { nameOf: ({ name }) => name }),
        ),
      ),
    );
  addCommand(program, receivers);
  changeCommand(program, receivers);
  removeCommand(program, receivers);
  receivers
    .command("test")
    .addArgument(receiverArgument())
    .description("Send a test message, and show what came back. Exits with 1 where it did not arrive.")
    .action((name: string) =>
      answer(
        program,
        { method: "POST", path: receiverPath(name, "/test"), missing: noReceiver(name) },
        shown(receiverTestSchema, (test) => textOf(() => testLine(test))),
        (sent) => !receiverTestSchema.safeParse(sent).data?.arrived,
      ),
    );
  letterCommands(program, receivers);
}

const receiverArgument = () => new Argument("<receiver>", "the receiver's name");
const receiverPath = (name: string, what = "") => `/v1/receivers/${encodeURIComponent(name)}${what}`;
const noReceiver = (name: string) => `no receiver ${name}`;

const testLine = ({ arrived, status, answer: text, tookMs }: ReceiverTest) =>
  `${arrived ? "arrived" : "not arrived"} after ${tookMs} ms: ${status === null ? "" : `HTTP ${status} `}${harmless(text)}`.trimEnd() +
  "\n";

/** The secret alone, so that it can go into a file; where there is no new one, that it is done. */
const secretOr = (text: string): Show =>
  shown(changedReceiverSchema, ({ secret }) => textOf(() => `${secret ?? text}\n`));

function addCommand(program: OperatorProgram, receivers: Command): void {
  const command = receivers
    .command("add")
    .addArgument(receiverArgument())
    .description("Add a receiver, and print its signing secret, once and alone.");
  withReceiverFlags(command).action((name: string, flags: ReceiverFlags) => {
    const wish = receiverWish(flags);
    if (!wish.ok) return fail(program, fault("usage", wish.error).error);
    if (wish.value.url === undefined)
      return fail(program, fault("usage", "where to? Pass --to ADDRESS, or --to-file FILE").error);
    const body = { name, ...wish.value };
    return answer(
      program,
      { method: "POST", path: "/v1/receivers", body, typed: TYPED_RECEIVER },
      secretOr(`receiver ${name} is added`),
    );
  });
}

function changeCommand(program: OperatorProgram, receivers: Command): void {
  const command = receivers
    .command("change")
    .addArgument(receiverArgument())
    .description("Give a receiver other settings: those that are named, for what comes after.");
  withReceiverFlags(command)
    .option("--new-secret", "make a new signing secret, and print it; the one before signs nothing any more")
    .action((name: string, { newSecret, ...flags }: ReceiverFlags & { newSecret?: boolean }) => {
      const wish = receiverWish(flags);
      if (!wish.ok) return fail(program, fault("usage", wish.error).error);
      return change(program, name, { ...wish.value, ...(newSecret && { newSecret }) });
    });
}

async function change(program: OperatorProgram, name: string, wish: ReceiverWish): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const asked = await ask(connection.value, { method: "GET", path: "/v1/receivers" });
  const list = asked.ok ? readAnswer(receiversSchema, asked.value) : asked;
  if (!list.ok) return fail(program, list.error);
  const before = list.value.receivers.find((each) => each.name === name);
  if (!before) return fail(program, fault("not-found", noReceiver(name)).error);
  return answer(
    program,
    {
      method: "PUT",
      path: receiverPath(name),
      body: changedWish(before, wish),
      missing: noReceiver(name),
      typed: TYPED_RECEIVER,
    },
    secretOr(`receiver ${name} is changed`),
  );
}

function removeCommand(program: OperatorProgram, receivers: Command): void {
  receivers
    .command("remove")
    .addArgument(receiverArgument())
    .description("Forget a receiver, with all its letters. Asks first.")
    .option("--yes", "do not ask: for scripts")
    .action(async (name: string, flags: { yes?: boolean }) => {
      const consequence = `${name}: it is told nothing any more, and its letters are forgotten`;
      const agreed = await confirmed(consequence, flags, program.surroundings.terminal);
      if (!agreed.ok) return fail(program, fault("failed", agreed.error).error);
      return answer(
        program,
        { method: "DELETE", path: receiverPath(name), missing: noReceiver(name) },
        done(`receiver ${name} is removed`),
      );
    });
}

function letterCommands(program: OperatorProgram, receivers: Command): void {
  receivers
    .command("letters")
    .addArgument(receiverArgument())
    .description("Dead letters, with why they were given up, and those that wait; oldest first.")
    .action((name: string) =>
      answer(
        program,
        { method: "GET", path: receiverPath(name, "/letters"), missing: noReceiver(name) },
        shown(lettersSchema, ({ letters }) =>
          listOf(letters, letterColumns, {
            nameOf: ({ id }) => String(id),
            ...(letters.length === 0 && { above: () => "no letters\n" }),
          }),
        ),
      ),
    );
  receivers
    .command("resend")
    .addArgument(receiverArgument())
    .addArgument(new Argument("<letter>", "the dead letter's ID").argParser(wholeNumber))
    .description("Send a dead letter again.")
    .action((name: string, id: number) =>
      answer(
        program,
        {
          method: "POST",
          path: receiverPath(name, `/letters/${id}/resend`),
          missing: `receiver ${name} has no dead letter ${id}`,
        },
        done(`letter ${id} is sent again`),
      ),
    );
}

interface ReceiverFlags extends ToldFlags {
  to?: string;
  toFile?: string;
  format?: MessageFormat;
  outagesOnly?: boolean;
  /** Milliseconds. */
  delay?: number;
  repeat?: number;
  authorizationFile?: string;
}

/** What is absent is the Worker's to choose, or stays. */
type ReceiverWish = Partial<Omit<ReceiverChange, "states"> & { states: string[] }>;

const FORMATS = ["json", "slack", "alertmanager"] as const satisfies readonly MessageFormat[];

function withReceiverFlags(command: Command): Command {
  command
    .option("--to <address>", "where messages go: https://example.com/hook")
    .option("--to-file <file>", "holds that address, where it is a secret, as Slack's is")
    .addOption(new Option("--format <format>", "in which form it takes messages").choices(FORMATS));
  return withToldFlags(command)
    .option("--outages-only", "only what concerns a whole site, or the cluster")
    .option("--no-outages-only", "single machines as well")
    .option("--delay <duration>", "how long a state lasts before it is told: 0s, 2m", lengthOfTime)
    .option("--repeat <duration>", "how often what lasts is told again: 1h; 0s: never", lengthOfTime)
    .option("--authorization-file <file>", "holds the header authorization of each message: Bearer SECRET");
}

/** Which flag says what of the request's body. */
const TYPED_RECEIVER = {
  ...TYPED_TOLD,
  name: "RECEIVER",
  url: "--to",
  format: "--format",
  outagesOnly: "--outages-only",
  delaySeconds: "--delay",
  repeatMinutes: "--repeat",
  authorization: "--authorization-file",
};

/** What was typed. The error says what to do. */
function receiverWish(flags: ReceiverFlags): Result<ReceiverWish> {
  const { to, toFile, format, outagesOnly, delay, repeat, authorizationFile } = flags;
  if (to !== undefined && toFile !== undefined) return failure("pass --to or --to-file, not both");
  const url = toFile === undefined ? success(to) : lineOf(toFile, "the address's file");
  if (!url.ok) return url;
  const authorization =
    authorizationFile === undefined ? success(undefined) : lineOf(authorizationFile, "the header's file");
  if (!authorization.ok) return authorization;
  return success({
    ...(url.value !== undefined && { url: url.value }),
    ...(format !== undefined && { format }),
    ...toldOf(flags),
    ...(outagesOnly !== undefined && { outagesOnly }),
    ...(delay !== undefined && { delaySeconds: delay / 1000 }),
    ...(repeat !== undefined && { repeatMinutes: repeat / 60_000 }),
    ...(authorization.value !== undefined && { authorization: authorization.value }),
  });
}

/** A change has all settings: what was not typed is as it was, and how often is told again as the new format needs it. */
function changedWish(before: ListedReceiver, wish: ReceiverWish): ReceiverWish {
  const { selector, names, states, outagesOnly, delaySeconds, repeatMinutes } = before;
  const format = before.format as MessageFormat;
  const keepsFormat = wish.format === undefined || wish.format === format;
  const kept = { format, selector, names, states, outagesOnly, delaySeconds };
  return { ...kept, ...(keepsFormat && { repeatMinutes }), ...wish };
}

function lineOf(path: string, what: string): Result<string> {
  const text = readPrivate(path, what);
  if (!text.ok) return text;
  return text.value === null
    ? failure(`${what} ${path} cannot be read (ENOENT)`)
    : success(text.value.trim());
}

function lengthOfTime(text: string): number {
  const ms = durationMs(text);
  if (ms >= 0 && Number.isSafeInteger(ms)) return ms;
  throw new InvalidArgumentError("must be a duration such as 0s, 90s, 15m or 1h.");
}
