// Makes the tables of both command lines from their help: commands and flags.
import type { Argument, Command, Option } from "commander";
import { polledChanges } from "../infra/operator/polled-changes.ts";
import { operatorProgram } from "../../infra/operator/program.ts";
import { shimProgram } from "../../node-shim/cli/command-line.ts";
import { CONFIGURATION_FLAGS } from "../../node-shim/config/flags.ts";
import { MACHINE_FLAGS } from "../../node-shim/machine/flag-table.ts";

const code = (text: string) => `\`${text}\``;

interface LeafCommand {
  path: string;
  command: Command;
}

/** Lists the commands that do something by themselves, not the groups of commands, in the help's order. */
function leavesOf(parent: Command, before: string): LeafCommand[] {
  return parent.commands.flatMap((command) => {
    const path = `${before} ${command.name()}`;
    const below = leavesOf(command, path);
    const isLeaf = below.length === 0 || command.registeredArguments.length > 0;
    return [...(isLeaf ? [{ path, command }] : []), ...below];
  });
}

function operatorLeaves(): LeafCommand[] {
  const nobody = { isInteractive: false, ask: () => Promise.resolve(undefined) };
  const quiet = { env: {}, stdout: { write: () => true }, stderr: { write: () => true } };
  const clock = {
    now: () => 0,
    pause: () => Promise.resolve(),
    changesOf: () => polledChanges(() => Promise.resolve()),
  };
  return leavesOf(operatorProgram({ process: quiet, terminal: nobody, ...clock }), "rollcall");
}

export function operatorCommands(): string[][] {
  const rows = operatorLeaves().map((leaf) => [typed(leaf), leaf.command.description()]);
  return [["command", "what it does"], ...rows];
}

function typed({ path, command }: LeafCommand): string {
  return code([path, ...command.registeredArguments.map(argumentText)].join(" "));
}

function argumentText(argument: Argument): string {
  const text = argument.name().toUpperCase() + (argument.variadic ? "..." : "");
  return argument.required ? text : `[${text}]`;
}

export function operatorFlags(): string[][] {
  const all = operatorLeaves().flatMap(({ path, command: { options } }) =>
    options.map((option) => ({ option, of: path.replace("rollcall ", "") })),
  );
  return flagTable(all.map(({ option, of }) => ({ option, says: option.description, of })));
}

/** Returns a line for each flag and its help; commands with the same flag share one line. */
function flagTable(all: { option: Option; says: string; of: string }[]): string[][] {
  const rows = new Map<string, string[]>();
  for (const { option, says, of } of all) {
    const key = [code(option.flags), says].join("\n");
    if (!option.hidden) rows.set(key, [...(rows.get(key) ?? []), of]);
  }
  const lines = [...rows].map(([key, of]) => [...key.split("\n"), of.map(code).join(", ")]);
  return [["flag", "meaning", "commands"], ...lines];
}

/** Returns true if the flag sets a machine's configuration: docs/configuration.md lists these flags. */
const isOfMachine = (option: Option) =>
  option.name() in CONFIGURATION_FLAGS ||
  Object.values(MACHINE_FLAGS).some(({ name }) => name === option.name());

/** Returns true if the command takes all of the machine's flags. A few commands take only some of them. */
function takesAllOfMachine({ options }: Command): boolean {
  const most = Object.keys(MACHINE_FLAGS).length + Object.keys(CONFIGURATION_FLAGS).length;
  return options.filter(isOfMachine).length === most;
}

export function shimCommands(): string[][] {
  const rows = leavesOf(shimProgram(), "node-shim").map((leaf) => [
    typed(leaf),
    leaf.command.description(),
    takesAllOfMachine(leaf.command) ? "takes the machine's flags" : "",
  ]);
  return [["command", "what it does", "machine's flags"], ...rows];
}

export function shimFlags(): string[][] {
  const all = leavesOf(shimProgram(), "").flatMap(({ path, command }) =>
    command.options
      .filter((option) => !(takesAllOfMachine(command) && isOfMachine(option)))
      .map((option) => ({ option, says: option.description + presetOf(option), of: path.trim() })),
  );
  return flagTable(all);
}

function presetOf({ defaultValue }: Option): string {
  return typeof defaultValue === "string" ? ` (default: ${code(defaultValue)})` : "";
}
