// Makes the commander program of rollcall: its surroundings, and the flags that every command has. Common flags may
// stand before or behind the command. Of `nodes --state silent --state ./folder`, the folder is the common flag's value.
import { Command, Option } from "commander";
import type { WorkerConnection } from "./client.ts";
import type { Terminal } from "./confirm.ts";
import type { OperatorEnvironment } from "./contexts/connection.ts";
import type { FleetChanges } from "./feed-client.ts";
import { timeoutMs } from "./flag-values.ts";
import { FORMATS } from "./render/shown.ts";

/** The parts of a process that commands use, typically this process. */
interface OperatorProcess {
  env: OperatorEnvironment & { NO_COLOR?: string | undefined; TERM?: string | undefined };
  stdout: TextStream & { isTTY?: boolean | undefined; columns?: number | undefined };
  stderr: TextStream & { isTTY?: boolean | undefined };
  exitCode?: number | string | null | undefined;
}
interface TextStream {
  write: (text: string) => unknown;
}

export interface Surroundings {
  process: OperatorProcess;
  /** Asks the operator before a change that cannot be undone. */
  terminal: Terminal;
  /** Returns milliseconds since 1970, typically wallMs. */
  now: () => number;
  /** Resolves after `ms` milliseconds, typically by a timer. */
  pause: (ms: number) => Promise<void>;
  /** Writes bytes to stdout. Absent: the output takes only texts. */
  writeBytes?: (bytes: Uint8Array) => void;
  /** Replaces the line of progress on a terminal; "" removes it. runCommandLine sets this function. */
  progress?: (text: string) => void;
  /** Sets the line that Ctrl+C prints before it ends the process. Returns a function that removes the line. */
  atInterrupt?: (line: string) => () => void;
  /** Reports when the fleet may have changed, typically by the Worker's feed. */
  changesOf: (connection: WorkerConnection) => FleetChanges;
}

/** A commander program that prints only to its surroundings, and throws a CommanderError instead of exiting. */
export class OperatorProgram extends Command {
  readonly surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    super("rollcall");
    this.surroundings = surroundings;
    const { stdout, stderr } = surroundings.process;
    this.configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    });
    this.configureHelp({ showGlobalOptions: true });
    // No suggestion for a mistyped command is made, because it could be a command that removes something.
    this.showSuggestionAfterError(false);
    this.exitOverride();
  }
}

const commonFlags = () => [
  new Option("--context <name>", "use the Worker of this context, instead of the current context"),
  new Option("--url <origin>", "use the Worker at this origin, instead of ROLLCALL_URL"),
  new Option("--state <folder>", "use the Worker of npm start with this state folder"),
  new Option("--secret-file <file>", "file with the operator's secret; only you may have access to it"),
  new Option("--request-timeout <duration>", "the time limit of a request: 10s, 2m; 0 for none").argParser(
    timeoutMs,
  ),
  new Option("-o, --output <format>", "the format of the output").choices(FORMATS),
  new Option("--json", "the same as -o json: the Worker's answer"),
];

export function withCommonFlags<C extends Command>(program: C): C {
  for (const option of commonFlags()) program.addOption(option);
  return program;
}

/** Adds the common flags to each command. Must be called after the last command is added. */
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
    // A flag behind a subcommand belongs to the subcommand, as in `mutes add --state silent`.
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
