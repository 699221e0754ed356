// Gives a command the service's flags and variables. A flag's value comes from the command line, else from the
// environment, else from the service, else it is the default.
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { codeOf } from "../base/fault.ts";
import { LOG_FORMATS } from "../base/log.ts";
import { type InstalledService, installedService } from "../service/installed.ts";
import { hasPackageUnit } from "../service/service.ts";
import { machineFlags, TOKEN_FILE, TOKEN_HELP, workerFlags } from "./flags.ts";

export interface Here {
  /** "/"; in tests another folder. */
  root: string;
  /** Gets the service's variables. Typically process.env. */
  environment: NodeJS.ProcessEnv;
  /** Prints one line. */
  print: (line: string) => void;
}

const onThisMachine: Here = {
  root: "/",
  environment: process.env,
  print: (line) => void process.stderr.write(`node-shim: ${line}\n`),
};

/** The environment variables that win over the service's flags. */
const VARIABLE_OF: Readonly<Record<string, string>> = {
  url: "ROLLCALL_URL",
  joinTokenFile: "ROLLCALL_JOIN_TOKEN",
};

/** Calls `asServiceDoes` before the action of `command`. */
export function likeService(command: Command, without: readonly string[] = []): Command {
  return command.hook("preAction", () => asServiceDoes(command, without));
}

/** Gives `status` the service's state folder, if this user may read the service's files. */
export function stateOfService(command: Command): Command {
  return command.hook("preAction", () => {
    try {
      asServiceDoes(command, [], { ...onThisMachine, environment: {}, print: () => undefined });
    } catch {
      // `status` then reads the folder of --state, or the default folder.
    }
  });
}

/** For `join`: with --install-service the unit gets this command's flags, unless a package has installed the unit. */
export function likeServiceThatStays(command: Command): Command {
  return command.hook("preAction", () => {
    const isReplaced = command.getOptionValue("installService") === true && !hasPackageUnit("/");
    if (!isReplaced) asServiceDoes(command);
  });
}

/**
 * Gives `command` the service's flags and variables, except those that the command line gave and those in `without`.
 * A --state other than the service's means another shim, which gets none of the service's flags. Throws if this user may
 * not read them.
 */
export function asServiceDoes(
  command: Command,
  without: readonly string[] = [],
  here: Here = onThisMachine,
): void {
  const service = installedService(here.root);
  if (service !== null) takeFrom(service, command, without, here);
  requireReadable(command);
}

function takeFrom(service: InstalledService, command: Command, without: readonly string[], here: Here): void {
  const run = parsedRun(service.flags);
  const state = (from: Command) => resolve(String(from.getOptionValue("state")));
  const isGiven = (name: string) => command.getOptionValueSource(name) === "cli";
  if (isGiven("state") && state(command) !== state(run)) return;
  const taken = run.options.flatMap((option) => {
    const name = option.attributeName();
    const isOwn = command.options.some((own) => own.attributeName() === name);
    const variable = here.environment[VARIABLE_OF[name] ?? ""];
    if (run.getOptionValueSource(name) !== "cli" || !isOwn || isGiven(name) || variable) return [];
    if (without.includes(name)) return [];
    command.setOptionValueWithSource(name, run.getOptionValue(name), "config");
    return [option.long ?? ""];
  });
  const variables = [...service.environment].flatMap(([name, value]) => {
    if (IN_UNIT.has(name) || here.environment[name] !== undefined) return [];
    // A flag of the command line wins over each environment.
    if (isGiven(Object.keys(VARIABLE_OF).find((flag) => VARIABLE_OF[flag] === name) ?? "")) return [];
    here.environment[name] = value;
    return [name];
  });
  const what = [...taken, ...variables].join(", ") || "its defaults";
  here.print(`as the service does: ${what} (${service.files.join(", ")})`);
}

/** Variables that are part of the flags already, or that only a long-running process needs. */
const IN_UNIT: ReadonlySet<string> = new Set(["NODE_SHIM_FLAGS", "MALLOC_TRIM_THRESHOLD_"]);

/** Parses the service's flags as `run` does, and ignores those of another version. */
function parsedRun(flags: readonly string[]): Command {
  const run = machineFlags(workerFlags(new Command("run")))
    .option(TOKEN_FILE, TOKEN_HELP)
    .option("--log-format <format>", LOG_FORMATS.join(" or "))
    .allowUnknownOption()
    .allowExcessArguments()
    .configureOutput({ writeErr: () => undefined })
    .exitOverride();
  try {
    run.parse(flags, { from: "user" });
  } catch (error) {
    throw new Error(`the service's flags cannot be read (${(error as Error).message}): ${flags.join(" ")}`, {
      cause: error,
    });
  }
  return run;
}

/** Throws one line if this user may not read the state folder. */
function requireReadable(command: Command): void {
  const state: unknown = command.getOptionValue("state");
  if (typeof state !== "string" || command.name() === "status") return;
  try {
    accessSync(state, constants.R_OK | constants.X_OK);
  } catch (error) {
    if (codeOf(error) !== "EACCES") return;
    throw new Error(
      `this user may not read ${state}: sudo node-shim ${command.name()}, or pass another --state`,
      { cause: error },
    );
  }
}
