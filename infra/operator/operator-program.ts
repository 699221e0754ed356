// The operator's program, and what it runs in: a process, and perhaps a person at its terminal.
import { Command, Option } from "commander";
import type { WorkerConnection } from "./client.ts";
import type { Terminal } from "./confirm.ts";
import type { OperatorEnvironment } from "./contexts/connection.ts";
import type { FleetChanges } from "./feed-client.ts";
import { FORMATS } from "./render/shown.ts";

/** What of a process a command reads and changes: typically this one. */
interface OperatorProcess {
  env: OperatorEnvironment & { NO_COLOR?: string | undefined; TERM?: string | undefined };
  stdout: TextStream & { isTTY?: boolean | undefined; columns?: number | undefined };
  stderr: TextStream;
  exitCode?: number | string | null | undefined;
}
interface TextStream {
  write: (text: string) => unknown;
}

export interface Surroundings {
  process: OperatorProcess;
  /** Who is asked before what cannot be taken back. */
  terminal: Terminal;
  /** Milliseconds since 1970: typically wallMs. */
  now: () => number;
  /** Resolves after so many milliseconds: typically a timer. */
  pause: (ms: number) => Promise<void>;
  /** When to look at the fleet again: typically by its feed. */
  changesOf: (connection: WorkerConnection) => FleetChanges;
}

/** Prints to its surroundings alone. A wrong command line, or --help, is a CommanderError: it ends no process. */
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
    // A suggestion for what was mistyped could be a command that removes.
    this.showSuggestionAfterError(false);
    this.exitOverride();
  }
}

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
