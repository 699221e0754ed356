// The flags of every command: which Worker, who asks, how it is printed. They stand before the command or behind it; where a
// command has one of the same name (`nodes --state silent`), that one stands behind, and this one before.
import { type Command, Option } from "commander";
import { FORMATS } from "./render/formats.ts";

const commonFlags = () => [
  new Option("--context <name>", "the Worker of this context, instead of the one in use"),
  new Option("--url <origin>", "the Worker, instead of ROLLCALL_URL"),
  new Option("--state <folder>", "the Worker of npm start, by its state folder"),
  new Option("--secret-file <file>", "holds the operator's secret; nobody else may read it"),
  new Option("-o, --output <format>", "how it is printed").choices(FORMATS),
  new Option("--json", "the same as -o json: the Worker's answer"),
];

export function withCommonFlags<C extends Command>(program: C): C {
  for (const option of commonFlags()) program.addOption(option);
  return program;
}

/** Call it when all commands are there. */
export function passOnCommonFlags(program: Command): void {
  const passedOn = new Set<Option>();
  const addTo = (command: Command): void => {
    for (const option of commonFlags()) {
      if (
        command.options.some(({ long, short }) => long === option.long || (short && short === option.short))
      )
        continue;
      passedOn.add(option.hideHelp());
      command.addOption(option);
    }
    // What stands behind a subcommand is the subcommand's: `mutes add --state silent`.
    command.enablePositionalOptions();
    command.commands.forEach(addTo);
  };
  program.commands.forEach(addTo);
  program.enablePositionalOptions();
  program.hook("preAction", (_, acting) => {
    for (let command: Command | null = acting; command && command !== program; command = command.parent)
      for (const option of command.options) {
        const name = option.attributeName();
        if (passedOn.has(option) && command.getOptionValueSource(name) === "cli")
          program.setOptionValueWithSource(name, command.getOptionValue(name), "cli");
      }
  });
}
