// Lists questions with their bounds, parameters and meaning: for operators those that are on, for the machine's owner all.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import {
  type AskableName,
  answerBytesOf,
  QUESTION_NAMES,
  type QuestionRow,
  QUESTIONS,
} from "../../shared/protocol/questions.ts";
import { patternLines } from "../config/own-questions.ts";
import type { QuestionHost, Source } from "./source.ts";

/** Yields the questions that are on. */
export const questions: Source<ParametersOf<"questions">> = async function* (_, host) {
  yield* listLines(host, (name) => (host.on.has(name) ? "" : null));
};

/** Yields lines for each question. `prefix` returns the beginning of a question's first line; null to leave it out. */
export function* listLines(
  { own }: Pick<QuestionHost, "own">,
  prefix: (name: AskableName) => string | null,
): Generator<string> {
  for (const name of QUESTION_NAMES) {
    const before = prefix(name);
    const row: QuestionRow = QUESTIONS[name];
    if (before !== null) yield* rowLines(before, name, row, answerBytesOf(name));
  }
  for (const [name, read] of own) {
    const before = prefix(name);
    if (before === null) continue;
    if (read.ok) {
      yield* rowLines(before, name, read.value, read.value.bytes);
      for (const line of patternLines(read.value)) yield `      ${line}`;
    } else yield* [`${before}${name}`, `    ${read.error}`];
  }
}

function* rowLines(
  before: string,
  name: string,
  { usage, help, seconds }: QuestionRow,
  bytes: number,
): Generator<string> {
  const bounds = `${String(seconds).padStart(3)} s  ${Math.ceil(bytes / 1024)} KiB`;
  yield `${before}${bounds}  ${`${name} ${usage}`.trim()}`;
  yield `    ${help}`;
}
