// Derives the form of a question from its usage, as QUESTIONS has it: `unit=NAME|kernel=yes [lines=100]`.
import type { AskBody } from "../../../shared/protocol/asking.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { QUESTION_NAMES, type QuestionRow, QUESTIONS } from "../../../shared/protocol/questions.ts";
import { shellCommand } from "../../../shared/shell-command.ts";

export interface QuestionField {
  name: string;
  label: string;
  hint?: string;
  /** `check`: the field has one value, `yes`. */
  kind: "text" | "number" | "choice" | "check";
  /** The value if the operator sets none. "" if there is none. */
  initial: string;
  choices?: readonly string[];
  bounds?: readonly [least: number, most: number];
  isRequired: boolean;
  /** The alternatives to this field: only one of all may have a value. */
  instead: readonly string[];
}

/** Labels and hints of known parameters. Another parameter has its name as its label. */
const WORDS: Readonly<Record<string, readonly [label: string, hint?: string]>> = {
  unit: ["Unit of systemd", "Such as nginx, or containerd.service."],
  kernel: ["Lines of the kernel instead"],
  since: ["Not older than", "Such as 10m, 2h, 24h."],
  lines: ["Lines at most"],
  grep: ["Only lines with this text", "A part of a line. The audit log does not keep it."],
  container: ["ID of the container", "Or its first characters; runtime lists them."],
  path: ["Path"],
  by: ["Largest by"],
  top: ["Rows at most"],
};
const BOUNDS: Readonly<Record<string, readonly [number, number]>> = {
  lines: QUESTION_LIMITS.lines,
  top: QUESTION_LIMITS.top,
};

/** Returns a question's row, with its place in the list; undefined if this version of the page lacks it. */
export function rowOf(name: string): (QuestionRow & { place: number }) | undefined {
  const place = QUESTION_NAMES.findIndex((each) => each === name);
  const known = QUESTION_NAMES[place];
  return known && { ...QUESTIONS[known], place };
}

export type OwnRow = Pick<QuestionRow, "help" | "usage" | "seconds">;

/** Returns the row of an owner's question in the answer to `questions`; undefined if the answer lacks it. */
export function ownRowIn(list: string, name: string): OwnRow | undefined {
  const lines = list.split("\n");
  for (const [index, line] of lines.entries()) {
    const [, seconds, asked, usage = ""] = /^ *(\d+) s {2}\d+ KiB {2}(\S+)(?: (.*))?$/.exec(line) ?? [];
    if (asked === name) return { help: lines[index + 1]?.trim() ?? "", usage, seconds: Number(seconds) };
  }
  return undefined;
}

/** Returns the name of a question's parameter in the page's address. */
export const parameterKey = (parameter: string): string => `with.${parameter}`;

/** Returns the fields of a question. A machine that means harm may list more parameters than a question can have. */
export function fieldsOf(usage: string): QuestionField[] {
  const parts = usage.slice(0, QUESTION_LIMITS.lineLength).split(" ").filter(Boolean);
  return parts.flatMap(fieldsOfPart).slice(0, ASKING_LIMITS.parameters);
}

function fieldsOfPart(part: string): QuestionField[] {
  const isRequired = !part.startsWith("[");
  // A bar separates values, or whole parameters: by=cpu|memory, unit=NAME|kernel=yes.
  const parameters = part.replaceAll(/[[\]]/g, "").split(/\|(?=\w+=)/);
  const names = parameters.map((each) => each.slice(0, each.indexOf("=")));
  return parameters.map((parameter, index) => {
    const name = names[index] ?? "";
    const choices = parameter.slice(name.length + 1).split("|");
    const [value = ""] = choices;
    const [label, hint] = WORDS[name] ?? [name];
    const bounds = BOUNDS[name];
    const isPlaceholder = /^\/?[A-Z]+$/.test(value);
    return {
      name,
      label,
      ...(hint !== undefined && { hint }),
      kind:
        choices.length > 1 ? "choice" : value === "yes" ? "check" : IS_NUMBER.test(value) ? "number" : "text",
      initial: isPlaceholder || value === "yes" ? "" : value,
      ...(choices.length > 1 && { choices }),
      ...(bounds && { bounds }),
      isRequired,
      instead: names.filter((each) => each !== name),
    };
  });
}

const IS_NUMBER = /^(\d+|NUMBER)$/;

/** Returns the parameters to send: required ones, and values that differ from the defaults. */
export function parametersOf(
  fields: readonly QuestionField[],
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ name, initial, isRequired }) => {
      const value = values[name]?.trim() ?? "";
      return value === "" || (value === initial && !isRequired) ? [] : [[name, value]];
    }),
  );
}

/** Returns the names of required fields without a value. Of several alternatives one is enough. */
export function missingIn(
  fields: readonly QuestionField[],
  values: Readonly<Record<string, string>>,
): string[] {
  const has = (name: string) => (values[name]?.trim() ?? "") !== "";
  return fields
    .filter(({ name, isRequired, instead }) => isRequired && ![name, ...instead].some(has))
    .map(({ name }) => name);
}

/** Returns the question as a machine writes it: `logs unit=nginx since=10m`. */
export const questionText = ({ name, parameters }: AskBody): string =>
  [name, ...Object.entries(parameters).map(([key, value]) => `${key}=${value}`)].join(" ");

/** Returns the command that asks the same with the operator's key, quoted for a shell. */
export function commandOf(machine: string, { name, parameters }: AskBody): string {
  const pairs = Object.entries(parameters).map(([key, value]) => `${key}=${value}`);
  return `${shellCommand(["rollcall", "ask", machine, name, ...pairs])} --key ~/.config/rollcall/question-key`;
}
