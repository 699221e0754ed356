// From the flags of `receivers add` and `receivers change` to what the Worker is asked for. Addresses and headers that are
// secrets come from files: a command line is seen by every user of its machine.
import { InvalidArgumentError, Option, type Command } from "commander";
import type { ListedReceiver } from "../../../shared/protocol/receiver-answers.ts";
import type { MessageFormat, ReceiverChange } from "../../../shared/protocol/receiver-api.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { readPrivate } from "../contexts/private-file.ts";
import { durationMs } from "../times.ts";
import { type ToldFlags, toldOf, TYPED_TOLD, withToldFlags } from "./told-machines.ts";

export interface ReceiverFlags extends ToldFlags {
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
export type ReceiverWish = Partial<Omit<ReceiverChange, "states"> & { states: string[] }>;

const FORMATS = ["json", "slack", "alertmanager"] as const satisfies readonly MessageFormat[];

export function withReceiverFlags(command: Command): Command {
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
export const TYPED_RECEIVER = {
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
export function receiverWish(flags: ReceiverFlags): Result<ReceiverWish> {
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
export function changedWish(before: ListedReceiver, wish: ReceiverWish): ReceiverWish {
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
