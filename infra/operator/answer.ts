// Ends each command: prints the Worker's answer, or one line with the reason why there is none.
import type { ZodMiniType } from "zod/mini";
import { shownText } from "../../shared/protocol/printable.ts";
import { type Result, success } from "../../shared/result.ts";
import { ask, type OperatorRequest, readAnswer, type WorkerConnection } from "./client.ts";
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
export function shown<T>(schema: ZodMiniType<T>, print: (answer: T) => Shown): Show {
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
