// How each command ends: asks the Worker and prints its answer, or one line that says why not. Knows no command.
import type { Command } from "commander";
import type { ZodMiniType } from "zod/mini";
import { type Result, success } from "../../shared/result.ts";
import { ask, connectionOf, type OperatorRequest, readAnswer } from "./client.ts";

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

/** Asks, and prints the answer: with --json as the Worker sent it. */
export async function answer(program: Command, request: OperatorRequest, show: Show): Promise<void> {
  const printed = await printedAnswer(program.opts<Flags>(), request, show);
  if (printed.ok) process.stdout.write(printed.value);
  else fail(printed.error);
}

async function printedAnswer(flags: Flags, request: OperatorRequest, show: Show): Promise<Result<string>> {
  const connection = connectionOf(flags, process.env);
  if (!connection.ok) return connection;
  const answered = await ask(connection.value, request);
  if (!answered.ok) return answered;
  return flags.json ? success(`${JSON.stringify(answered.value, null, 2)}\n`) : show(answered.value);
}

export function fail(error: string): void {
  console.error(`rollcall: ${error}`);
  process.exitCode = 1;
}
