// Runs rollcall receivers …: manages the receivers of notifications, and lists deliveries. Secret addresses and
// headers are read from files, since every user of a machine can see a command line.
import { printable } from "../../shared/protocol/printable.ts";
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
import { durationMs } from "../../shared/fleet/time-words.ts";
import { wholeNumber } from "./flag-values.ts";
import { machinesOf, type ScopeFlags, scopeOf, TYPED_SCOPE, withScopeFlags } from "./fleet/filter-flags.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { ageOf } from "./render/age.ts";
import { listOf, textOf } from "./render/shown.ts";
import type { TableColumn } from "./render/table.ts";

const HELP = `
add prints the signing secret once and nothing else, so that you can redirect it into a file.

Examples:
  rollcall receivers add ops --to https://example.com/hook > ops-secret
  rollcall receivers add site-b --format slack --to-file slack-address -l site=b --outages-only
  rollcall receivers test site-b
  rollcall receivers deliveries site-b
  rollcall receivers resend site-b 17`;

const receiverColumns = (nowMs: number): readonly TableColumn<ListedReceiver>[] => [
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "FORMAT", of: ({ format }) => format, rank: 4 },
  { head: "TO", of: ({ url }) => url, rank: 2, least: 16 },
  { head: "MACHINES", of: machinesOf, rank: 3, least: 12 },
  {
    head: "STATE",
    of: (receiver) =>
      receiver.failingSince === null ? stateOf(receiver) : `failing ${ageOf(receiver.failingSince, nowMs)}`,
    raw: (receiver) => receiver.failingSince ?? stateOf(receiver),
    rank: 0,
    paint: (receiver) => (({ ok: "green", untried: undefined, failed: "red" }) as const)[stateOf(receiver)],
  },
  { head: "FIRING", of: ({ firing }) => String(firing), rank: 3 },
  { head: "QUEUED", of: ({ waiting }) => String(waiting), rank: 1 },
  { head: "FAILED", of: ({ dead }) => String(dead), rank: 1 },
  {
    head: "ERROR",
    of: ({ error, lastDelivery }) => lastDelivery?.error || error,
    rank: 5,
    least: 16,
  },
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
  {
    head: "LAST",
    of: ({ lastDelivery }) =>
      lastDelivery ? `${lastDelivery.isTest ? "test " : ""}${ageOf(lastDelivery.at, nowMs)}` : "-",
    raw: ({ lastDelivery }) => lastDelivery?.at ?? "",
    rank: 2,
  },
  {
    head: "DIAGNOSIS",
    of: ({ withDiagnosis = false }) => (withDiagnosis ? "yes" : "no"),
    rank: 6,
    isWide: true,
  },
];

/** Returns the result of the last delivery or test. `untried`: the Worker has stored no attempt to deliver. */
function stateOf({ failingSince, lastDelivery }: ListedReceiver): "ok" | "untried" | "failed" {
  if (failingSince !== null || lastDelivery?.arrived === false) return "failed";
  return lastDelivery === null ? "untried" : "ok";
}

const deliveryColumns = (nowMs: number): readonly TableColumn<ListedLetter>[] => [
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
    .description(
      "Receivers: where the Worker sends a message when a machine has a problem, and when it is over.",
    )
    .addHelpText("after", HELP);
  receivers
    .command("list")
    .description("List receivers, sorted by name, with their waiting and failed deliveries.")
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
    .description(
      "Send a receiver a test message and print its answer. Exits with 1 if the message did not arrive.",
    )
    .action((name: string) =>
      answer(
        program,
        { method: "POST", path: receiverPath(name, "/test"), missing: noReceiver(name) },
        shown(receiverTestSchema, (test) => textOf(() => testLine(test))),
        (sent) => !receiverTestSchema.safeParse(sent).data?.arrived,
      ),
    );
  deliveryCommands(program, receivers);
}

const receiverArgument = () => new Argument("<receiver>", "the receiver's name");
const receiverPath = <What extends string = "">(name: string, what = "" as What) =>
  `/v1/receivers/${encodeURIComponent(name)}${what}` as const;
const noReceiver = (name: string) => `no receiver ${name}`;

const testLine = ({ arrived, status, answer: text, tookMs }: ReceiverTest) =>
  `${arrived ? "arrived" : "not arrived"} after ${tookMs} ms: ${status === null ? "" : `HTTP ${status} `}${printable(text)}`.trimEnd() +
  "\n";

/** Returns a Show that prints only the new secret, or `text` if the answer has no new secret. */
const secretOr = (text: string): Show =>
  shown(changedReceiverSchema, ({ secret }) => textOf(() => `${secret ?? text}\n`));

function addCommand(program: OperatorProgram, receivers: Command): void {
  const command = receivers
    .command("add")
    .addArgument(receiverArgument())
    .description("Add a receiver and print only its signing secret, which the Worker never shows again.");
  withReceiverFlags(command).action((name: string, flags: ReceiverFlags) => {
    const settings = receiverSettings(flags);
    if (!settings.ok) return fail(program, { reason: "usage", message: settings.error });
    if (settings.value.url === undefined)
      return fail(program, { reason: "usage", message: "where to? Pass --to ADDRESS, or --to-file FILE" });
    const body = { name, ...settings.value };
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
    .description(
      "Change a receiver's settings. A setting without a flag does not change, but an address of another origin " +
        "removes the header authorization and prints a new signing secret.",
    );
  withReceiverFlags(command)
    .option(
      "--new-secret",
      "make a new signing secret and print it; the Worker stops using the former secret",
    )
    .action((name: string, { newSecret, ...flags }: ReceiverFlags & { newSecret?: boolean }) => {
      const settings = receiverSettings(flags);
      if (!settings.ok) return fail(program, { reason: "usage", message: settings.error });
      return change(program, name, { ...settings.value, ...(newSecret && { newSecret }) });
    });
}

async function change(program: OperatorProgram, name: string, settings: ReceiverSettings): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const asked = await ask(connection.value, { method: "GET", path: "/v1/receivers" });
  const list = asked.ok ? readAnswer(receiversSchema, asked.value) : asked;
  if (!list.ok) return fail(program, list.error);
  const before = list.value.receivers.find((each) => each.name === name);
  if (!before) return fail(program, { reason: "not-found", message: noReceiver(name) });
  return answer(
    program,
    {
      method: "PUT",
      path: receiverPath(name),
      body: changedSettings(before, settings),
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
    .description("Remove a receiver and all its deliveries. Asks first.")
    .option("--yes", "do not ask for confirmation (for scripts)")
    .action(async (name: string, flags: { yes?: boolean }) => {
      const consequence = `${name}: it gets no messages any more, and its deliveries are removed`;
      const agreed = await confirmed(consequence, flags, program.surroundings.terminal);
      if (!agreed.ok) return fail(program, { reason: "failed", message: agreed.error });
      return answer(
        program,
        { method: "DELETE", path: receiverPath(name), missing: noReceiver(name) },
        done(`receiver ${name} is removed`),
      );
    });
}

function deliveryCommands(program: OperatorProgram, receivers: Command): void {
  receivers
    .command("deliveries")
    .alias("letters")
    .addArgument(receiverArgument())
    .description(
      "List a receiver's failed deliveries with their errors, and its waiting deliveries, oldest first.",
    )
    .action((name: string) =>
      answer(
        program,
        { method: "GET", path: receiverPath(name, "/letters"), missing: noReceiver(name) },
        shown(lettersSchema, ({ letters }) =>
          listOf(letters, deliveryColumns, {
            nameOf: ({ id }) => String(id),
            ...(letters.length === 0 && { above: () => "no deliveries\n" }),
          }),
        ),
      ),
    );
  receivers
    .command("resend")
    .addArgument(receiverArgument())
    .addArgument(new Argument("<delivery>", "the failed delivery's ID").argParser(wholeNumber))
    .description("Send a failed delivery again.")
    .action((name: string, id: number) =>
      answer(
        program,
        {
          method: "POST",
          path: receiverPath(name, `/letters/${id}/resend`),
          missing: `receiver ${name} has no failed delivery ${id}`,
        },
        done(`delivery ${id} is sent again`),
      ),
    );
}

interface ReceiverFlags extends ScopeFlags {
  to?: string;
  toFile?: string;
  format?: MessageFormat;
  outagesOnly?: boolean;
  withDiagnosis?: boolean;
  /** Milliseconds that a state must last before a message is sent. `repeat` is in milliseconds, too. */
  delay?: number;
  repeat?: number;
  authorizationFile?: string;
}

/** A receiver's fields from flags. For absent fields, a new receiver gets defaults, a changed one keeps its values. */
type ReceiverSettings = Partial<Omit<ReceiverChange, "states"> & { states: string[] }>;

const FORMATS = ["json", "slack", "alertmanager"] as const satisfies readonly MessageFormat[];

function withReceiverFlags(command: Command): Command {
  command
    .option("--to <address>", "the receiver's address: https://example.com/hook")
    .option("--to-file <file>", "file with the receiver's address, if the address is a secret, as Slack's is")
    .addOption(new Option("--format <format>", "the format of messages").choices(FORMATS));
  return withScopeFlags(command)
    .option("--outages-only", "send only messages about outages and about the cluster")
    .option("--no-outages-only", "send messages about single machines as well")
    .option(
      "--with-diagnosis",
      "send the machine's own diagnosis with an alert about a machine that is not ready",
    )
    .option("--no-with-diagnosis", "send alerts without a diagnosis")
    .option(
      "--delay <duration>",
      "the time for which a state must last before a message is sent: 0s, 2m",
      lengthOfTime,
    )
    .option(
      "--repeat <duration>",
      "the interval at which an active alert is repeated: 1h; 0s: never",
      lengthOfTime,
    )
    .option(
      "--authorization-file <file>",
      "file with the header authorization of each message: Bearer SECRET",
    );
}

/** The flag that sets each field of the request's body, for error messages. */
const TYPED_RECEIVER = {
  ...TYPED_SCOPE,
  name: "RECEIVER",
  url: "--to",
  format: "--format",
  outagesOnly: "--outages-only",
  withDiagnosis: "--with-diagnosis",
  delaySeconds: "--delay",
  repeatMinutes: "--repeat",
  authorization: "--authorization-file",
};

/** Reads the flags, and the files that they name. The error has a remedy. */
function receiverSettings(flags: ReceiverFlags): Result<ReceiverSettings> {
  const { to, toFile, format, outagesOnly, withDiagnosis, delay, repeat, authorizationFile } = flags;
  if (to !== undefined && toFile !== undefined) return failure("pass --to or --to-file, not both");
  const url = toFile === undefined ? success(to) : lineOf(toFile, "the address's file");
  if (!url.ok) return url;
  const authorization =
    authorizationFile === undefined ? success(undefined) : lineOf(authorizationFile, "the header's file");
  if (!authorization.ok) return authorization;
  return success({
    ...(url.value !== undefined && { url: url.value }),
    ...(format !== undefined && { format }),
    ...scopeOf(flags),
    ...(outagesOnly !== undefined && { outagesOnly }),
    ...(withDiagnosis !== undefined && { withDiagnosis }),
    ...(delay !== undefined && { delaySeconds: delay / 1000 }),
    ...(repeat !== undefined && { repeatMinutes: repeat / 60_000 }),
    ...(authorization.value !== undefined && { authorization: authorization.value }),
  });
}

/** Returns a changed receiver's settings: former values without a flag, but a new format's default for --repeat. */
function changedSettings(before: ListedReceiver, settings: ReceiverSettings): ReceiverSettings {
  const { selector, names, states, outagesOnly, withDiagnosis, delaySeconds, repeatMinutes } = before;
  const format = before.format as MessageFormat;
  const keepsFormat = settings.format === undefined || settings.format === format;
  const kept = { format, selector, names, states, outagesOnly, delaySeconds };
  // An earlier Worker refuses a field that it does not know.
  const diagnosis = withDiagnosis && { withDiagnosis };
  return { ...kept, ...diagnosis, ...(keepsFormat && { repeatMinutes }), ...settings };
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
