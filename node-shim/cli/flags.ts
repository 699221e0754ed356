// Defines the flags that configure the machine's Node, most of them the kubelet's. Several commands have these flags.
import { type Command, Option } from "commander";
import { resolve } from "node:path";
import { timestamp } from "../base/clock.ts";
import { type LogFormat, stderrLog } from "../base/log.ts";
import { whenAnswering } from "../base/state-file.ts";
import { CONFIGURATION_FLAGS, type ConfigurationFlag, type FlagTexts } from "../config/flags.ts";
import { MACHINE_FLAGS, type MachineFlag } from "../machine/flag-table.ts";
import type { MachineFlags } from "../machine/settings.ts";

const collect = (text: string, before: string[] = []) => [...before, text];
const configurationFlags = Object.entries(CONFIGURATION_FLAGS).map(([name, [field, shape]]) => {
  const option = new Option(`--${name} ${shape}`, field)
    .argParser(collect)
    .helpGroup("Fields of the configuration (a flag beats the file):");
  // Commander calls a flag without a value `true`; the configuration expects the text "true".
  return { name: name as ConfigurationFlag, option: shape === "[boolean]" ? option.preset("true") : option };
});

export function machineFlags(command: Command): Command {
  for (const flag of Object.values(MACHINE_FLAGS)) command.addOption(flagOption(flag));
  for (const { option } of configurationFlags) command.addOption(option);
  return command;
}

/** Returns Commander's option for one flag of MACHINE_FLAGS. */
export function flagOption({ name, value, help, default: preset, alone, repeats }: MachineFlag): Option {
  const option = new Option(`--${name}${value && ` ${value}`}`, help);
  if (preset !== undefined) option.default(preset);
  if (alone !== undefined) option.preset(alone);
  return repeats ? option.argParser(collect) : option;
}

/** Moves the flags that set fields of the configuration into `set`, where the commands expect them. */
export function withSet<Flags extends MachineFlags>(flags: Flags): Flags {
  const texts = flags as Record<string, unknown>;
  const set = configurationFlags.flatMap(({ name, option }) => {
    const given = texts[option.attributeName()];
    return given === undefined ? [] : [[name, given]];
  });
  return { ...flags, set: Object.fromEntries(set) as FlagTexts };
}

/** Returns the flags that the command line gave, with absolute paths. Omits the flags named in `without`. */
export function givenFlags(command: Command, without: readonly string[]): string[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    if (without.includes(name) || command.getOptionValueSource(name) !== "cli") return [];
    const value: unknown = command.getOptionValue(name);
    if (typeof value === "boolean") return [`--${option.name()}`];
    const isPath = /[<[](file|folder)[\]>]/.test(option.flags);
    const texts = (Array.isArray(value) ? value : [value]).map(String);
    return texts.map((text) => `--${option.name()}=${isPath ? resolve(text) : text}`);
  });
}

// Defines the flags of the commands that contact a Worker or read the state folder.

export const TOKEN_FILE = "--join-token-file <file>";
export const TOKEN_HELP = "a file with a join token, or - for standard input (or set ROLLCALL_JOIN_TOKEN)";

/** Adds --state. The action then begins once the folder's file system answers. */
export const stateFlag = (command: Command) =>
  command
    .option("--state <folder>", "the folder for the machine's key and enrolment", "/var/lib/rollcall")
    .hook("preAction", () => {
      const { state, logFormat } = command.opts<{ state: string; logFormat?: LogFormat }>();
      const isLog = command.name() === "run";
      return whenAnswering(state, (message) =>
        isLog
          ? stderrLog(timestamp, logFormat)("warn", `state folder: ${message}`)
          : console.error(`node-shim: ${message}`),
      );
    });

export const workerFlags = (command: Command) =>
  stateFlag(
    command.option(
      "--url <origin>",
      "the Worker's URL: https://rollcall.example.com (or set ROLLCALL_URL); join stores it",
    ),
  );
