// Gives a command the flags and variables of the installed service. For each flag, the command line wins over the
// environment, the environment over the service, and the service over the default.
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { codeOf } from "../base/fault.ts";
import { LOG_FORMATS } from "../base/log.ts";
import { type InstalledService, installedService } from "../service/installed.ts";
import { hasPackageUnit } from "../service/service.ts";
import { machineFlags, TOKEN_FILE, TOKEN_HELP, workerFlags } from "./flags.ts";

export interface Here {
  /** The root of the file system: "/", or a test's folder. */
  root: string;
  /** The environment to which the service's variables are added. Typically process.env. */
  environment: NodeJS.ProcessEnv;
  /** Prints one line. */
  print: (line: string) => void;
}

const onThisMachine: Here = {
  root: "/",
  environment: process.env,
  print: (line) => void process.stderr.write(`node-shim: ${line}\n`),
};

/** For each flag, the environment variable with the same value. The variable wins over the service's flag. */
const VARIABLE_OF: Readonly<Record<string, string>> = {
  url: "ROLLCALL_URL",
  joinTokenFile: "ROLLCALL_JOIN_TOKEN",
};

/** Calls `asServiceDoes` before the action of `command`. Flags in `without` are not taken from the service. */
export function likeService(command: Command, without: readonly string[] = []): Command {
  return command.hook("preAction", () => asServiceDoes(command, without));
}

/** Sets the state folder of `status` to the service's, if this user may read the service's files. */
export function stateOfService(command: Command): Command {
  return command.hook("preAction", () => {
    try {
      asServiceDoes(command, [], { ...onThisMachine, environment: {}, print: () => undefined });
    } catch {
      // `status` reads the folder of --state, or the default folder, if this user may not read the service's files.
    }
  });
}

/** Prepares `join`: --install-service gives the unit this command's flags, unless a package has installed the unit. */
export function likeServiceThatStays(command: Command): Command {
  return command.hook("preAction", () => {
    const isReplaced = command.getOptionValue("installService") === true && !hasPackageUnit("/");
    if (!isReplaced) asServiceDoes(command);
  });
}

/**
 * Gives `command` the service's flags and variables, except those that the command line gave and those in
 * `without`. A --state other than the service's means another shim, which gets no flags of the service. Throws if
 * this user may not read the service's files.
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
    // The command line has the flag with the same value as this variable, and so the variable is skipped.
    if (isGiven(Object.keys(VARIABLE_OF).find((flag) => VARIABLE_OF[flag] === name) ?? "")) return [];
    here.environment[name] = value;
    return [name];
  });
  const what = [...taken, ...variables].join(", ") || "its defaults";
  here.print(`as the service does: ${what} (${service.files.join(", ")})`);
}

/** The service's variables that commands ignore: parsed elsewhere, or of use only to a long-running process. */
const IN_UNIT: ReadonlySet<string> = new Set(["NODE_SHIM_FLAGS", "MALLOC_TRIM_THRESHOLD_"]);

/** Parses the service's flags as `run` does. Ignores flags that only another version of the shim knows. */
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

/** Throws a one-line error if this user may not read the state folder. */
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
