// Makes a program's manual page from its help, so that the help and the page have one source.
import type { Command, Option } from "commander";

export interface Edition {
  version: string;
  /** The date on the page, like 2026-01-31. */
  date: string;
}

/** The parts of a manual page that are not in the help. */
export interface ManualPart {
  /** The section of the manual: 1 for all users, 8 for administrators of the machine. */
  section: 1 | 8;
  files: readonly (readonly [path: string, what: string])[];
}

const SECTION_NAMES = { 1: "User Commands", 8: "System Administration" } as const;

/** Returns the manual page of a program, in the format of man(7). */
export function manPage(
  program: Command,
  { version, date }: Edition,
  { section, files }: ManualPart,
): string {
  const name = program.name();
  const commands = leavesOf(program);
  return [
    `.TH ${name.toUpperCase().replaceAll("-", String.raw`\-`)} ${section} ${date} "rollcall ${version}" "${SECTION_NAMES[section]}"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(lowerFirst(program.description()).replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    ...commands.flatMap(({ path, command }) => [
      `.B ${roff(`${name} ${path}`)}`,
      ...(command.options.length > 0 ? [String.raw`.RI [ options ]`] : []),
      ".br",
    ]),
    ...globalPart(program),
    ".SH COMMANDS",
    ...commands.flatMap(commandPart),
    ...configurationPart(program.commands),
    ...sections(afterHelp(program)),
    ".SH FILES",
    ...files.flatMap(([path, what]) => [".TP", `.I ${roff(path)}`, roff(what)]),
    "",
  ].join("\n");
}

interface Leaf {
  /** The full name of the command, like `token create`. */
  path: string;
  command: Command;
}

/** Returns the commands that have an action, with their full names. Groups of commands have none. */
function leavesOf(program: Command, before = ""): Leaf[] {
  return program.commands.flatMap((command) => {
    const path = before + command.name();
    const below = leavesOf(command, `${path} `);
    return below.length > 0 && command.registeredArguments.length === 0
      ? below
      : [{ path, command }, ...below];
  });
}

/** Returns the section of the options that every command has. */
function globalPart({ options }: Command): string[] {
  const shown = options.filter(({ hidden }) => !hidden);
  return shown.length === 0 ? [] : [".SH OPTIONS", ...shown.flatMap(optionPart)];
}

/** Returns the section of the options that several commands share, or nothing if there are none. */
function configurationPart(commands: readonly Command[]): string[] {
  if (!commands.some(({ options }) => options.some(isGrouped))) return [];
  const grouped = commands.flatMap(({ options }) => options.filter(isGrouped));
  const having = commands.filter(({ options }) => options.some(isGrouped)).map((command) => command.name());
  const once = [...new Map(grouped.map((option) => [option.flags, option])).values()];
  return [
    ".SH CONFIGURATION FLAGS",
    roff(`Flags of ${having.join(", ")}: each is a field of the configuration.`),
    ...once.flatMap(optionPart),
  ];
}

const isGrouped = ({ helpGroupHeading }: Option) => helpGroupHeading !== undefined;

function optionPart({ flags, description, defaultValue }: Option): string[] {
  const preset = defaultValue === undefined ? "" : ` (default: ${String(defaultValue)})`;
  return [".TP", `.B ${roff(flags)}`, roff(description + preset)];
}

function commandPart({ path, command }: Leaf): string[] {
  const own = command.options.filter((option) => !option.hidden && !isGrouped(option));
  return [
    `.SS ${roff(path)}`,
    roff(command.description()),
    ...own.flatMap(optionPart),
    ...afterHelp(command).flatMap((line) => (/^\S.*:$/.test(line) ? [".PP", roff(line)] : exampleLine(line))),
  ];
}

/** Turns lines of help into roff. A line "Title:" begins a section; the indented lines below it are its text. */
function sections(lines: string[]): string[] {
  return lines.flatMap((line) =>
    /^[^\s,:][^,:]{0,40}:$/.test(line) ? [`.SH ${roff(line.slice(0, -1).toUpperCase())}`] : exampleLine(line),
  );
}

/** Returns a line of help as roff. An indented line stays a line of its own. */
function exampleLine(line: string): string[] {
  if (line.trim() === "") return [];
  return line.startsWith("  ")
    ? [".PP", ".nf", `.RS 4`, roff(line.slice(2)), ".RE", ".fi"]
    : [".PP", roff(line)];
}

/** Returns the lines that the command's help has from addHelpText("after"). */
function afterHelp(command: Command): string[] {
  let whole = "";
  const copy = command.configureOutput();
  command.configureOutput({ ...copy, writeOut: (text) => (whole += text) });
  command.outputHelp();
  command.configureOutput(copy);
  return whole.slice(command.helpInformation().length).split("\n");
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** Escapes text for roff, so that no line is a request and hyphens can be copied. */
function roff(text: string): string {
  const escaped = text.replaceAll("\\", String.raw`\e`).replaceAll("-", String.raw`\-`);
  return /^['.]/.test(escaped) ? String.raw`\&${escaped}` : escaped;
}
