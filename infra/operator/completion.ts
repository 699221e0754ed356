// Completes command lines: rollcall completion SHELL prints a script, which runs `rollcall __complete WORDS`;
// kubectl also runs this command for its plugins. Candidates are the program's own commands and flags, and names
// from the Worker. Prints no error.
import { printable } from "../../shared/protocol/printable.ts";
import { Argument, Command, type Option } from "commander";
import * as z from "zod/mini";
import type { Flags } from "./answer.ts";
import { ask } from "./client.ts";
import { readConfig } from "./contexts/config-file.ts";
import { connectionOf, contextOf } from "./contexts/connection.ts";
import { EXPLAINED } from "./explain-command.ts";
import { type OperatorProgram, withCommonFlags } from "./operator-program.ts";

const HELP = `
Load it in the shell's start-up file:
  bash: source <(rollcall completion bash)
  zsh:  source <(rollcall completion zsh)
  fish: rollcall completion fish | source
The Debian package installs all three. kubectl's own completion completes kubectl rollcall.`;

export function completionCommand(program: OperatorProgram): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .description("Print the script with which a shell completes commands, flags and machines' names.")
    .addHelpText("after", HELP)
    .action((shell: Shell) => void program.surroundings.process.stdout.write(completionScript(shell)));
}

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell): string {
  return { bash: BASH, zsh: ZSH, fish: FISH }[shell];
}

/** The script for bash. `rollcall __complete` prints candidates with descriptions, then `:4`, or `:0` for files. */
const BASH = `# bash completion of rollcall: source <(rollcall completion bash)
_rollcall() {
  local line candidates=() current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :0) compopt -o default 2> /dev/null ;;
      :*) ;;
      *) candidates+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(rollcall __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
  for line in "\${candidates[@]}"; do
    [[ $line == "$current"* ]] && COMPREPLY+=("$(printf %q "$line")")
  done
}
complete -F _rollcall rollcall
`;

const ZSH = `#compdef rollcall
# zsh completion of rollcall: source <(rollcall completion zsh), or this file as _rollcall in a folder of fpath
_rollcall() {
  local line file=0
  local -a candidates
  while IFS= read -r line; do
    case "$line" in
      :0) file=1 ;;
      :*) ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <(rollcall __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)
  if (( file )); then _files; else _describe rollcall candidates; fi
}
if [[ $funcstack[1] == _rollcall ]]; then _rollcall "$@"; else compdef _rollcall rollcall; fi
`;

const FISH = `# fish completion of rollcall: rollcall completion fish | source
function __rollcall_complete
    set -l words (commandline -opc)
    rollcall __complete $words[2..-1] (commandline -ct) 2> /dev/null | string match -v -r '^:'
end
complete -c rollcall -f -a '(__rollcall_complete)'
complete -c rollcall -l secret-file -r -F
complete -c rollcall -l state -r -F
`;

/** Milliseconds that a shell waits after Tab for names from the Worker. */
const NAMES_WITHIN_MS = 1000;
const NAMES_AT_ONCE = 200;

/** Prints the candidates for the last of `words`, which may be "". `words` are typed behind the program's name. */
export async function complete(program: OperatorProgram, words: readonly string[]): Promise<void> {
  const completed = candidatesOf(program, words);
  const looked = await lookUp(program, completed.wants, words);
  program.surroundings.process.stdout.write(linesOf(completed, looked));
}

/** Returns the lines that cobra would print. The last line `:4` means that no file is completed. */
function linesOf({ candidates, wants }: Completed, looked: readonly Candidate[]): string {
  const lines = [...candidates, ...looked].map(({ word, what }) =>
    what === "" ? printable(word) : `${printable(word)}\t${printable(what)}`,
  );
  return [...lines, wants === "file" ? ":0" : ":4"].map((line) => `${line}\n`).join("");
}

async function lookUp(
  program: OperatorProgram,
  wants: Completed["wants"],
  words: readonly string[],
): Promise<Candidate[]> {
  if (wants === "machine") return machineNames(program, words);
  if (wants === "word to explain")
    return EXPLAINED.map(({ word, kind }) => ({ word: word.replaceAll(" ", "-"), what: kind }));
  if (wants !== "context") return [];
  const config = readConfig(program.surroundings.process.env);
  const contexts = config.ok ? Object.entries(config.value.contexts) : [];
  return contexts.map(([word, { url }]) => ({ word, what: url }));
}

function commonFlagsIn(program: Command, words: readonly string[]): Flags {
  const parser = withCommonFlags(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  parser.parseOptions(commonWords(program, words));
  return parser.opts<Flags>();
}

const namesSchema = z.object({ machines: z.array(z.object({ name: z.string(), state: z.string() })) });

async function machineNames(program: OperatorProgram, words: readonly string[]): Promise<Candidate[]> {
  const flags = commonFlagsIn(program, words);
  const { env } = program.surroundings.process;
  const context = contextOf(flags, env);
  // A command that prints the secret may ask for a password. Completion must not do that, so it offers no machines.
  if (!context.ok || context.value.secretCommand !== undefined || context.value.cloudflared) return [];
  const connection = connectionOf(flags, env);
  if (!connection.ok) return [];
  const typed = words.at(-1) ?? "";
  const query = new URLSearchParams({ fields: "name,state", limit: String(NAMES_AT_ONCE) });
  if (typed !== "") query.set("text", typed);
  const path = `/v1/machines?${query.toString()}` as const;
  const answered = await ask(connection.value, { method: "GET", path, withinMs: NAMES_WITHIN_MS });
  const { data } = namesSchema.safeParse(answered.ok ? answered.value : null);
  return (data?.machines ?? [])
    .filter(({ name }) => name.startsWith(typed))
    .map(({ name, state }) => ({ word: name, what: state }));
}

interface Candidate {
  word: string;
  what: string;
}

interface Completed {
  candidates: Candidate[];
  /** The kind of further candidates that have to be looked up, or null. */
  wants: "machine" | "context" | "file" | "word to explain" | null;
}

/** Returns the candidates for the last of `words`, which may be "". `words` are typed behind the program's name. */
function candidatesOf(program: Command, words: readonly string[]): Completed {
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

/** Returns those words that are common flags or their values. The common flags choose the Worker. */
const commonWords = (program: Command, words: readonly string[]): string[] =>
  walk(program, words.slice(0, -1)).common;

const NONE: Completed = { candidates: [], wants: null };
const isVariadic = ({ variadic }: Argument) => variadic;
/** Returns true for a hidden command, by a private field of commander. */
const isHidden = (command: Command) => (command as Command & { _hidden?: boolean })._hidden === true;

interface Walked {
  command: Command;
  /** The number of the command's arguments typed so far. */
  operands: number;
  /** The option whose value the next word is. */
  pending?: Option | undefined;
  /** The words that are common flags, or values of common flags. */
  common: string[];
}

function walk(program: Command, words: readonly string[]): Walked {
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  const common: string[] = [];
  // A command's copies of common flags are hidden; a visible flag is its own, like `nodes --state silent`.
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
  if (/<(file|folder)(\.\.\.)?>/.test(option.flags)) return { candidates: [], wants: "file" };
  if (option.long === "--context") return { candidates: [], wants: "context" };
  return /<machine>/.test(option.flags) ? { candidates: [], wants: "machine" } : NONE;
}

function ofArgument(command: Command, argument: Argument): Completed {
  if (argument.argChoices)
    return { candidates: argument.argChoices.map((word) => ({ word, what: "" })), wants: null };
  if (command.parent?.name() === "context") return { candidates: [], wants: "context" };
  if (command.name() === "explain") return { candidates: [], wants: "word to explain" };
  if (argument.name() === "file") return { candidates: [], wants: "file" };
  return argument.name() === "name" ? { candidates: [], wants: "machine" } : NONE;
}
