// How each command ends: asks the Worker and prints its answer, or one line that says why not. Knows no command.
import type { ZodMiniType } from "zod/mini";
import { PAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { type Result, success } from "../../shared/result.ts";
import { ask, type OperatorRequest, readAnswer, type WorkerConnection } from "./client.ts";
import { connectionOf, type ConnectionFlags } from "./contexts/connection.ts";
import { EXIT_CODES, fault, type OperatorFault } from "./fault.ts";
import type { OperatorProgram } from "./operator-program.ts";
import type { OutputFormat } from "./render/formats.ts";
import { screenOf } from "./render/screen.ts";
import { inFormat, type Shown, textOf, type ScreenView } from "./render/shown.ts";

export interface Flags extends ConnectionFlags {
  json?: boolean;
  output?: OutputFormat;
}

/** What is printed of an answer. */
export type Show = (answer: unknown) => Result<Shown, OperatorFault>;

/** An answer of this shape, as `print` makes it. */
export function shown<T>(schema: ZodMiniType<T>, print: (answer: T) => Shown): Show {
  return (answer) => {
    const read = readAnswer(schema, answer);
    return read.ok ? success(print(read.value)) : read;
  };
}

/** For answers that say nothing but that it is done. */
export const done =
  (text: string): Show =>
  () =>
    success(textOf(() => `${text}\n`));

export function connect(program: OperatorProgram): Result<WorkerConnection, OperatorFault> {
  return connectionOf(program.opts<Flags>(), program.surroundings.process.env);
}

/** Asks, and prints the answer: with -o json as the Worker sent it. `hasFailed`: it is the answer of a failed command. */
export async function answer(
  program: OperatorProgram,
  request: OperatorRequest,
  show: Show,
  hasFailed: (sent: unknown) => boolean = () => false,
): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const sent = await ask(connection.value, request);
  if (!sent.ok) return fail(program, sent.error);
  await print(program, () => show(sent.value), sent.value);
  if (hasFailed(sent.value)) program.surroundings.process.exitCode = EXIT_CODES.failed;
}

/** With -o json the answer need not be of a shape that this version knows. */
export async function print(
  program: OperatorProgram,
  show: () => Result<Shown, OperatorFault>,
  sent: unknown,
) {
  const format = formatOf(program);
  const shows = format === "json" || format === "yaml" ? success(textOf(() => "")) : show();
  if (!shows.ok) return fail(program, shows.error);
  const text = await inFormat(shows.value, sent, format, viewOf(program));
  if (!text.ok) return fail(program, fault("usage", text.error).error);
  program.surroundings.process.stdout.write(text.value);
}

export function formatOf(program: OperatorProgram): OutputFormat | undefined {
  const { json, output } = program.opts<Flags>();
  return json ? "json" : output;
}

export function viewOf(program: OperatorProgram): ScreenView {
  const { process, now } = program.surroundings;
  return {
    screen: screenOf(process.stdout, process.env),
    nowMs: now(),
    isWide: formatOf(program) === "wide",
  };
}

/** Where the entries of one log are, and how many of them are wanted. */
export interface LogRequest {
  /** `/v1/audit?by=machines`: what follows the path is added to its query. */
  path: string;
  limit: number;
  missing?: string;
  typed?: Record<string, string>;
}

/** Asks page by page, newest first, and prints the entries together: with -o json as the Worker sent them. */
export async function answerLog<Entry extends { id: number }>(
  program: OperatorProgram,
  { path, limit, ...request }: LogRequest,
  schema: ZodMiniType<{ entries: Entry[] }>,
  show: (entries: readonly Entry[]) => Shown,
): Promise<void> {
  const connection = connect(program);
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
  await print(program, () => success(show(entries)), { entries });
}

export function fail({ surroundings: { process } }: OperatorProgram, { reason, says }: OperatorFault): void {
  process.stderr.write(`rollcall: ${says}\n`);
  process.exitCode = EXIT_CODES[reason];
}
