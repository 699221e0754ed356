// Lets a command see what the service sees: flags of its own, then its environment, then what the service runs with,
// then defaults. Where no service is installed, nothing changes.
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
  /** What the service's environment is added to. Typically process.env. */
  environment: NodeJS.ProcessEnv;
  /** Gets what was found, in one line. */
  say: (line: string) => void;
}

const onThisMachine: Here = {
  root: "/",
  environment: process.env,
  say: (line) => void process.stderr.write(`node-shim: ${line}\n`),
};

/** Flags that the environment decides where it is set, rather than the service's. */
const VARIABLE_OF: Readonly<Record<string, string>> = {
  url: "ROLLCALL_URL",
  joinTokenFile: "ROLLCALL_JOIN_TOKEN",
};

/** Has `command` do that before its action. */
export function likeService(command: Command, without: readonly string[] = []): Command {
  return command.hook("preAction", () => asServiceDoes(command, without));
}

/** For `status`, which reads a file that is everybody's: the service's state folder, where this user may know it. */
export function stateOfService(command: Command): Command {
  return command.hook("preAction", () => {
    try {
      asServiceDoes(command, [], { ...onThisMachine, environment: {}, say: () => undefined });
    } catch {
      // Then it is the usual folder, or --state says which.
    }
  });
}

/** For `join`: with --install-service the unit gets the flags of this command, unless a package has brought the unit. */
export function likeServiceThatStays(command: Command): Command {
  return command.hook("preAction", () => {
    const isReplaced = command.getOptionValue("installService") === true && !hasPackageUnit("/");
    if (!isReplaced) asServiceDoes(command);
  });
}

/**
 * Gives `command` what the service runs with, where it was not given something else. `without` names the flags that are
 * not to be taken over. With a --state other than the service's it is about another shim, and nothing is taken. Throws
 * with what to do where this user may not read it.
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
    // A flag beats the environment, whoever gave it.
    if (isGiven(Object.keys(VARIABLE_OF).find((flag) => VARIABLE_OF[flag] === name) ?? "")) return [];
    here.environment[name] = value;
    return [name];
  });
  const what = [...taken, ...variables].join(", ") || "its defaults";
  here.say(`as the service does: ${what} (${service.files.join(", ")})`);
}

/** They are part of the flags already, or matter to a process that runs for long. */
const IN_UNIT: ReadonlySet<string> = new Set(["NODE_SHIM_FLAGS", "MALLOC_TRIM_THRESHOLD_"]);

/** The service's flags, as `run` would read them. Those of another version are left out. */
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

/** A state folder that is another user's is seen here, in one line, before anything else is read. */
function requireReadable(command: Command): void {
  const state: unknown = command.getOptionValue("state");
  if (typeof state !== "string" || command.name() === "status") return;
  try {
    accessSync(state, constants.R_OK | constants.X_OK);
  } catch (error) {
    if (codeOf(error) !== "EACCES") return;
    throw new Error(
      `${state} is not this user's to read: sudo node-shim ${command.name()}, or pass another --state`,
      { cause: error },
    );
  }
}
