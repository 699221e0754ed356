// What may stand where the cursor is, out of the program's own commands and flags. Asks nobody: what has to be asked for
// is said, and looked up by others.
import type { Argument, Command, Option } from "commander";

export interface Candidate {
  word: string;
  what: string;
}

export interface Completed {
  /** Those that are known here. */
  candidates: Candidate[];
  /** What else may stand there. */
  wants: "machine" | "context" | "file" | "word to explain" | null;
}

/** `words` are those behind the program's name; the last one is the one to complete, perhaps "". */
export function candidatesOf(program: Command, words: readonly string[]): Completed {
  const current = words.at(-1) ?? "";
  const { command, operands, pending } = walk(program, words.slice(0, -1));
  if (pending) return valuesOf(pending);
  if (current.startsWith("-")) {
    const [flag, value] = split(current);
    if (value === undefined) return { candidates: flagsOf(program, command), wants: null };
    const option = optionOf(program, command, flag);
    const values = option ? valuesOf(option) : NONE;
    const prefixed = values.candidates.map(({ word, what }) => ({ word: `${flag}=${word}`, what }));
    return { candidates: prefixed, wants: null };
  }
  const subcommands = command.commands
    .filter((each) => !isHidden(each) && operands === 0)
    .map((each) => ({ word: each.name(), what: each.description() }));
  const argument = command.registeredArguments[operands] ?? command.registeredArguments.findLast(isVariadic);
  const values = argument ? ofArgument(command, argument) : NONE;
  return { candidates: [...subcommands, ...values.candidates], wants: values.wants };
}

/** The flags of every command that stand among these words, with their values: what says which Worker is asked. */
export const commonWords = (program: Command, words: readonly string[]): string[] =>
  walk(program, words.slice(0, -1)).common;

const NONE: Completed = { candidates: [], wants: null };
const isVariadic = ({ variadic }: Argument) => variadic;
/** Commander keeps it to itself. */
const isHidden = (command: Command) => (command as Command & { _hidden?: boolean })._hidden === true;

interface Walked {
  command: Command;
  /** How many of the command's own arguments are there. */
  operands: number;
  /** The option whose value comes next. */
  pending?: Option | undefined;
  /** Those of the words that are flags of every command, or their values. */
  common: string[];
}

function walk(program: Command, words: readonly string[]): Walked {
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  const common: string[] = [];
  // One that a command has itself is another: `nodes --state silent`. Passed on, they are hidden.
  const isCommon = (option: Option) => program.options.includes(option) || option.hidden;
  for (const word of words) {
    if (pending) {
      if (isCommon(pending)) common.push(word);
      pending = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const [flag, value] = split(word);
      const option = optionOf(program, command, flag);
      if (option && isCommon(option)) common.push(word);
      pending = option?.required && value === undefined ? option : undefined;
      continue;
    }
    const next = operands === 0 ? command.commands.find((each) => isCalled(each, word)) : undefined;
    if (next) command = next;
    else operands++;
  }
  return { command, operands, pending, common };
}

const isCalled = (command: Command, word: string) =>
  command.name() === word || command.aliases().includes(word);

function split(word: string): [flag: string, value?: string] {
  const at = word.indexOf("=");
  return at < 0 || !word.startsWith("--") ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

const optionOf = (program: Command, command: Command, flag: string) =>
  [...command.options, ...program.options].find(({ long, short }) => long === flag || short === flag);

function flagsOf(program: Command, command: Command): Candidate[] {
  const own = command === program ? [] : command.options.filter(({ hidden }) => !hidden);
  const others = program.options.filter(({ long }) => !own.some((option) => option.long === long));
  const flags = [...own, ...others].filter(({ long }) => long);
  return [
    ...flags.map(({ long, description }) => ({ word: long ?? "", what: description })),
    { word: "--help", what: "flags and examples" },
  ];
}

function valuesOf(option: Option): Completed {
  if (option.argChoices)
    return { candidates: option.argChoices.map((word) => ({ word, what: "" })), wants: null };
  if (/<(file|folder)>/.test(option.flags)) return { candidates: [], wants: "file" };
  if (option.long === "--context") return { candidates: [], wants: "context" };
  return /<machine>/.test(option.flags) ? { candidates: [], wants: "machine" } : NONE;
}

function ofArgument(command: Command, argument: Argument): Completed {
  if (argument.argChoices)
    return { candidates: argument.argChoices.map((word) => ({ word, what: "" })), wants: null };
  if (command.parent?.name() === "context") return { candidates: [], wants: "context" };
  if (command.name() === "explain") return { candidates: [], wants: "word to explain" };
  return argument.name() === "name" ? { candidates: [], wants: "machine" } : NONE;
}
