// node-shim.8 out of the command line's own help, so that there is one source of both.
import type { Command, Option } from "commander";

export interface Edition {
  version: string;
  /** 2026-01-31 */
  date: string;
}

/** The manual page of a program, in man(7). */
export function manPage(program: Command, { version, date }: Edition): string {
  const name = program.name();
  return [
    `.TH ${name.toUpperCase().replaceAll("-", String.raw`\-`)} 8 ${date} "rollcall ${version}" "System Administration"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(lowerFirst(program.description()).replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    ...program.commands.flatMap((command) => [
      `.B ${roff(`${name} ${command.name()}`)}`,
      ...(command.options.length > 0 ? [String.raw`.RI [ options ]`] : []),
      ".br",
    ]),
    ".SH COMMANDS",
    ...program.commands.flatMap((command) => commandPart(command)),
    ...configurationPart(program.commands),
    ...sections(afterHelp(program)),
    ".SH FILES",
    ...FILES.flatMap(([path, what]) => [".TP", `.I ${roff(path)}`, roff(what)]),
    "",
  ].join("\n");
}

const FILES = [
  ["/etc/rollcall/kubelet.yaml", "KubeletConfiguration that the service reads."],
  ["/etc/rollcall/node-shim.env", "The service's environment: NODE_SHIM_FLAGS, ROLLCALL_URL, HTTPS_PROXY."],
  ["/var/lib/rollcall", "The machine's key and enrolment."],
  ["/run/rollcall-node-shim/status.json", "What node-shim status shows of the service."],
] as const;

/** The flags that are grouped in the help are those of many commands: once is enough. */
function configurationPart(commands: readonly Command[]): string[] {
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

function commandPart(command: Command): string[] {
  const own = command.options.filter((option) => !option.hidden && !isGrouped(option));
  return [
    `.SS ${roff(command.name())}`,
    roff(command.description()),
    ...own.flatMap(optionPart),
    ...afterHelp(command).flatMap((line) => (/^\S.*:$/.test(line) ? [".PP", roff(line)] : exampleLine(line))),
  ];
}

/** "Title:" and the indented lines below it become a section. */
function sections(lines: string[]): string[] {
  return lines.flatMap((line) =>
    /^\S.*:$/.test(line) ? [`.SH ${roff(line.slice(0, -1).toUpperCase())}`] : exampleLine(line),
  );
}

/** What is indented in the help is a line of its own. */
function exampleLine(line: string): string[] {
  if (line.trim() === "") return [];
  return line.startsWith("  ")
    ? [".PP", ".nf", `.RS 4`, roff(line.slice(2)), ".RE", ".fi"]
    : [".PP", roff(line)];
}

/** What addHelpText("after") adds. */
function afterHelp(command: Command): string[] {
  let whole = "";
  const copy = command.configureOutput();
  command.configureOutput({ ...copy, writeOut: (text) => (whole += text) });
  command.outputHelp();
  command.configureOutput(copy);
  return whole.slice(command.helpInformation().length).split("\n");
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** Plain text for roff: no line is a request, a hyphen can be copied. */
function roff(text: string): string {
  const escaped = text.replaceAll("\\", String.raw`\e`).replaceAll("-", String.raw`\-`);
  return /^['.]/.test(escaped) ? String.raw`\&${escaped}` : escaped;
}
