// Runs rollcall context …: lists and changes the names that the operator gives to Workers.
import { resolve } from "node:path";
import type { Command } from "commander";
import { faultOf } from "../../../node-shim/base/fault.ts";
import { originOf } from "../../../node-shim/worker-link/origin.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { fail, print } from "../answer.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { listOf } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";
import { type OperatorConfig, readConfig, type SavedContext, writeConfig } from "./config-file.ts";
import { secretInFile } from "./secrets.ts";

const HELP = `
A context is a Worker's URL and the place that its secret comes from: --secret-file, --secret-command or --cloudflared. Without
these three, the secret comes from the environment (ROLLCALL_SECRET). Contexts are stored in ~/.config/rollcall/config.json, or
below XDG_CONFIG_HOME; secrets are not stored.

Examples:
  rollcall context add prod --url https://rollcall.example.com --secret-file ~/.config/rollcall/prod
  rollcall context add prod --url https://rollcall.example.com --secret-command 'pass show rollcall/prod'
  rollcall context add prod --url https://rollcall.example.com --cloudflared
  rollcall context use prod
  rollcall --context prod nodes`;

interface AddFlags {
  secretCommand?: string;
  cloudflared?: boolean;
}

export function contextCommands(program: OperatorProgram): void {
  const context = program
    .command("context")
    .description("Contexts: names for the Workers that you use.")
    .addHelpText("after", HELP);
  context
    .command("add <name>")
    .description(
      "Add or change the context of this name, for the Worker of --url. Your first context becomes the current context.",
    )
    .option("--secret-command <command>", "a shell command that prints the secret")
    .option(
      "--cloudflared",
      "for a Worker behind Cloudflare Access: run `cloudflared access token` each time",
    )
    .action((name: string, flags: AddFlags) =>
      change(program, `context ${name} is stored`, (config) =>
        withContext(config, name, { ...program.opts(), ...flags }),
      ),
    );
  context
    .command("use <name>")
    .description("Make this context the current context, which commands use.")
    .action((name: string) =>
      change(program, `context ${name} is the current one`, (config) => {
        const known = knownIn(config, name);
        return known.ok ? success({ ...config, current: name }) : known;
      }),
    );
  context
    .command("remove <name>")
    .description("Remove this context. The Worker itself does not change.")
    .action((name: string) =>
      change(program, `context ${name} is removed`, (config) => without(config, name)),
    );
  listCommands(program, context);
}

function listCommands(program: OperatorProgram, context: Command): void {
  context
    .command("list")
    .description("List contexts. * marks the current context.")
    .action(() => {
      const config = readConfig(program.surroundings.process.env);
      return config.ok ? show(program, rowsOf(config.value)) : fail(program, usage(config.error));
    });
  context
    .command("show [name]")
    .description("Show one context, by default the current context.")
    .action((name: string | undefined) => {
      const config = readConfig(program.surroundings.process.env);
      if (!config.ok) return fail(program, usage(config.error));
      const wanted = name ?? config.value.current;
      if (wanted === undefined)
        return fail(program, usage("there is no current context: rollcall context use NAME"));
      const known = knownIn(config.value, wanted);
      if (!known.ok) return fail(program, usage(known.error));
      return show(
        program,
        rowsOf(config.value).filter((row) => row.name === wanted),
      );
    });
}

function withContext(
  config: OperatorConfig,
  name: string,
  { url, secretFile, secretCommand, cloudflared }: AddFlags & { url?: string; secretFile?: string },
): Result<OperatorConfig> {
  if (!/^\w[\w.-]{0,62}$/.test(name)) return failure(`${name}: a context's name has letters, digits and -._`);
  if (url === undefined) return failure("which Worker? Pass --url https://HOST");
  if (secretFile !== undefined && secretCommand !== undefined)
    return failure("--secret-file and --secret-command both give the secret: pass one of them");
  const readable = secretFile === undefined ? success("") : secretInFile(secretFile);
  if (!readable.ok) return readable;
  try {
    const added: SavedContext = {
      url: originOf(url, "--url"),
      ...(secretFile !== undefined && { secretFile: resolve(secretFile) }),
      ...(secretCommand !== undefined && { secretCommand }),
      ...(cloudflared && { cloudflared }),
    };
    const contexts = { ...config.contexts, [name]: added };
    return success({ current: config.current ?? name, contexts });
  } catch (error) {
    return failure(faultOf(error));
  }
}

function without(config: OperatorConfig, name: string): Result<OperatorConfig> {
  const known = knownIn(config, name);
  if (!known.ok) return known;
  const contexts = Object.fromEntries(Object.entries(config.contexts).filter(([each]) => each !== name));
  const { current } = config;
  return success({ ...(current !== undefined && current !== name && { current }), contexts });
}

function knownIn({ contexts }: OperatorConfig, name: string): Result<null> {
  if (Object.hasOwn(contexts, name)) return success(null);
  return failure(`no context ${name}: rollcall context list shows all contexts`);
}

/** Reads the configuration, changes it, and writes it. After an error nothing is written. */
function change(
  program: OperatorProgram,
  outcome: string,
  next: (config: OperatorConfig) => Result<OperatorConfig>,
): void {
  const { env, stdout } = program.surroundings.process;
  const config = readConfig(env);
  const changed = config.ok ? next(config.value) : config;
  const written = changed.ok ? writeConfig(env, changed.value) : changed;
  if (!written.ok) return fail(program, usage(written.error));
  stdout.write(`${outcome}\n`);
}

const usage = (message: string) => ({ reason: "usage", message }) as const;

interface ContextRow extends SavedContext {
  name: string;
  isCurrent: boolean;
}

const COLUMNS: readonly TableColumn<ContextRow>[] = [
  { head: "", of: ({ isCurrent }) => (isCurrent ? "*" : ""), rank: 0 },
  { head: "NAME", of: ({ name }) => name, rank: 0 },
  { head: "URL", of: ({ url }) => url, rank: 0 },
  { head: "SECRET", of: secretWords, rank: 1, least: 20 },
];

function secretWords({ secretFile, secretCommand, cloudflared }: SavedContext): string {
  const own =
    secretFile === undefined ? secretCommand && `printed by: ${secretCommand}` : `file ${secretFile}`;
  const words = [...(own ? [own] : []), ...(cloudflared ? ["cloudflared"] : [])];
  return words.join(", ") || "environment";
}

const rowsOf = ({ current, contexts }: OperatorConfig): ContextRow[] =>
  Object.entries(contexts).map(([name, saved]) => ({ name, ...saved, isCurrent: name === current }));

const show = (program: OperatorProgram, contexts: ContextRow[]) =>
  print(program, () => success(listOf(contexts, () => COLUMNS, { nameOf: ({ name }) => name })), {
    contexts,
  });
