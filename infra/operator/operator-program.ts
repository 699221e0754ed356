// The operator's program, and what it runs in: a process, and perhaps a person at its terminal.
import { Command } from "commander";
import type { WorkerConnection } from "./client.ts";
import type { Terminal } from "./confirm.ts";
import type { OperatorEnvironment } from "./contexts/connection.ts";
import type { FleetChanges } from "./fleet/fleet-changes.ts";

/** What of a process a command reads and changes: typically this one. */
export interface OperatorProcess {
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
