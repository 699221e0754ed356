// Ends each command: prints the Worker's answer, or one line with the reason why there is none.
import * as z from "zod/mini";
import { shownText } from "../../shared/protocol/printable.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import { type Result, success } from "../../shared/result.ts";
import {
  ask,
  newList,
  type OperatorRequest,
  readAnswer,
  readUnchanged,
  type WorkerConnection,
} from "./client.ts";
import { type ConnectionFlags, connectionOf } from "./contexts/connection.ts";
import { EXIT_CODES, type OperatorFault } from "./fault.ts";
import type { OperatorProgram } from "./operator-program.ts";
import { inFormat, type OutputFormat, type ScreenView, type Shown, textOf } from "./render/shown.ts";
import { screenOf } from "./render/terminal.ts";

export interface Flags extends ConnectionFlags {
  json?: boolean;
  output?: OutputFormat;
}

/** Turns the Worker's answer into the text to print. */
export type Show = (answer: unknown) => Result<Shown, OperatorFault>;

/** Returns a Show that checks the shape of the answer, and renders it with `print`. */
export function shown<T>(schema: z.ZodMiniType<T>, print: (answer: T) => Shown): Show {
  return (answer) => {
    const read = readAnswer(schema, answer);
    return read.ok ? success(print(read.value)) : read;
  };
}

/** Returns a Show that prints `text`, for an answer without content. */
export const done =
  (text: string): Show =>
  () =>
    success(textOf(() => `${text}\n`));

export function connect(program: OperatorProgram): Result<WorkerConnection, OperatorFault> {
  return connectionOf(program.opts<Flags>(), program.surroundings.process.env);
}

/** Sends a request and prints the answer. `hasFailed` returns true for an answer that means exit code 1. */
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

const pageSchema = z.looseObject({ next: z.optional(z.nullable(z.string())) });

/** Reads a list page by page, and prints all pages as one answer. `field`: the rows' field in the answer. */
export async function answerList(
  program: OperatorProgram,
  path: PathOf<"GET">,
  field: string,
  show: Show,
): Promise<void> {
  const connection = connect(program);
  if (!connection.ok) return fail(program, connection.error);
  const rows: unknown[] = [];
  const list = newList();
  // The first request has no parameter, since an earlier Worker knows none and answers with the whole list.
  for (let query = ""; ;) {
    const request = { method: "GET", path: (path + query) as typeof path, list } as const;
    const sent = await ask(connection.value, request);
    const page = sent.ok ? readUnchanged(pageSchema, sent.value) : sent;
    if (!page.ok) return fail(program, page.error);
    const { next, [field]: more } = page.value;
    if (Array.isArray(more)) rows.push(...(more as unknown[]));
    if (typeof next === "string") query = `?${new URLSearchParams({ after: next }).toString()}`;
    else {
      const whole = { ...page.value, ...(Array.isArray(more) && { [field]: rows }) };
      return print(program, () => show(whole), whole);
    }
  }
}

/** Prints in the format of -o. With -o json, prints the answer unchanged, even one of unknown shape. */
export async function print(
  program: OperatorProgram,
  show: () => Result<Shown, OperatorFault>,
  sent: unknown,
) {
  const format = formatOf(program);
  const shows = format === "json" || format === "yaml" ? success(textOf(() => "")) : show();
  if (!shows.ok) return fail(program, shows.error);
  const text = await inFormat(shows.value, sent, format, viewOf(program));
  if (!text.ok) return fail(program, { reason: "usage", message: text.error });
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

/** The most characters of a fault. */
const FAULT_LENGTH = 4096;

export function fail(
  { surroundings: { process } }: OperatorProgram,
  { reason, message }: OperatorFault,
): void {
  process.stderr.write(`rollcall: ${shownText(message, FAULT_LENGTH)}\n`);
  process.exitCode = EXIT_CODES[reason];
}
