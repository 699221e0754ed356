// How each command ends: asks the Worker and prints its answer, or one line that says why not. Knows no command.
import type { ZodMiniType } from "zod/mini";
import { type Result, success } from "../../shared/result.ts";
import { PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { ask, connectionOf, type OperatorRequest, readAnswer } from "./client.ts";
import type { OperatorProgram } from "./operator-program.ts";

export interface Flags {
  url?: string;
  secretFile?: string;
  json?: boolean;
}

/** What is printed of an answer. */
export type Show = (answer: unknown) => Result<string>;

/** An answer of this shape, as `print` makes it. */
export function shown<T>(schema: ZodMiniType<T>, print: (answer: T) => string): Show {
  return (answer) => {
    const read = readAnswer(schema, answer);
    return read.ok ? success(print(read.value)) : read;
  };
}

/** For answers that say nothing but that it is done. */
export const done =
  (text: string): Show =>
  () =>
    success(`${text}\n`);

/** Asks, and prints the answer: with --json as the Worker sent it. `hasFailed`: it is the answer of a failed command. */
export async function answer(
  program: OperatorProgram,
  request: OperatorRequest,
  show: Show,
  hasFailed: (sent: unknown) => boolean = () => false,
): Promise<void> {
  const printed = await printedAnswer(program, request, show);
  if (!printed.ok) return fail(program, printed.error);
  const { process } = program.surroundings;
  process.stdout.write(printed.value.text);
  if (hasFailed(printed.value.sent)) process.exitCode = 1;
}

async function printedAnswer(
  program: OperatorProgram,
  request: OperatorRequest,
  show: Show,
): Promise<Result<{ text: string; sent: unknown }>> {
  const flags = program.opts<Flags>();
  const connection = connectionOf(flags, program.surroundings.process.env);
  if (!connection.ok) return connection;
  const answered = await ask(connection.value, request);
  if (!answered.ok) return answered;
  const sent = answered.value;
  if (flags.json) return success({ text: `${JSON.stringify(sent, null, 2)}\n`, sent });
  const text = show(sent);
  return text.ok ? success({ text: text.value, sent }) : text;
}

/** Where the entries of one log are, and how many of them are wanted. */
export interface LogRequest {
  /** `/v1/audit?by=machines`: what follows the path is added to its query. */
  path: string;
  limit: number;
  missing?: string;
}

/** Asks page by page, newest first, and prints the entries together: with --json as the Worker sent them. */
export async function answerLog<Entry extends { id: number }>(
  program: OperatorProgram,
  { path, limit, ...request }: LogRequest,
  schema: ZodMiniType<{ entries: Entry[] }>,
  print: (entries: readonly Entry[]) => string,
): Promise<void> {
  const flags = program.opts<Flags>();
  const { process } = program.surroundings;
  const connection = connectionOf(flags, process.env);
  if (!connection.ok) return fail(program, connection.error);
  const entries: Entry[] = [];
  while (entries.length < limit) {
    const last = entries.at(-1)?.id;
    const wanted = `limit=${Math.min(limit - entries.length, PAGE_LIMITS.entries)}`;
    const query = last === undefined ? wanted : `${wanted}&before=${last}`;
    const answered = await ask(connection.value, {
      ...request,
      method: "GET",
      path: `${path}${path.includes("?") ? "&" : "?"}${query}`,
    });
    const page = answered.ok ? readAnswer(schema, answered.value) : answered;
    if (!page.ok) return fail(program, page.error);
    if (page.value.entries.length === 0) break;
    entries.push(...page.value.entries);
  }
  process.stdout.write(flags.json ? `${JSON.stringify({ entries }, null, 2)}\n` : print(entries));
}

export function fail({ surroundings: { process } }: OperatorProgram, error: string): void {
  process.stderr.write(`rollcall: ${error}\n`);
  process.exitCode = 1;
}
