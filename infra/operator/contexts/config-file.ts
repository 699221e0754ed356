// Reads and writes the operator's configuration: Workers by name, and each secret's source, but no secret.
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJson } from "../../../node-shim/base/state-file.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { readPrivate, writePrivate } from "./secrets.ts";

const savedContext = z.strictObject({
  /** The Worker's origin, like https://rollcall.example.com. */
  url: z.string(),
  /** The path of a file with the secret, which only the operator may be able to read. */
  secretFile: z.optional(z.string()),
  /** A command line for a shell, which prints the secret. */
  secretCommand: z.optional(z.string()),
  /** true if `cloudflared access token` prints the token for Cloudflare Access. */
  cloudflared: z.optional(z.boolean()),
});
export type SavedContext = z.infer<typeof savedContext>;

const configSchema = z.strictObject({
  current: z.optional(z.string()),
  contexts: z.record(z.string(), savedContext),
});
export type OperatorConfig = z.infer<typeof configSchema>;

export interface ConfigPlace {
  XDG_CONFIG_HOME?: string | undefined;
  HOME?: string | undefined;
}

/** Returns the path of the configuration, or null if the environment has neither XDG_CONFIG_HOME nor HOME. */
export function configPath({ XDG_CONFIG_HOME: xdg, HOME: home }: ConfigPlace): string | null {
  if (xdg?.startsWith("/")) return join(xdg, "rollcall/config.json");
  return home ? join(home, ".config/rollcall/config.json") : null;
}

export function readConfig(place: ConfigPlace): Result<OperatorConfig> {
  const path = configPath(place);
  const text = path === null ? success(null) : readPrivate(path, "the configuration");
  if (!text.ok) return text;
  if (text.value === null) return success({ contexts: {} });
  const read = configSchema.safeParse(parseJson(text.value));
  if (read.success) return success(read.data);
  const { path: at, message } = firstFault(read.error);
  return failure(
    `the configuration ${path} is not valid (at ${at || "/"}: ${message}): correct or remove it`,
  );
}

export function writeConfig(place: ConfigPlace, config: OperatorConfig): Result<null> {
  const path = configPath(place);
  if (path === null) return failure("there is no folder for the configuration: set HOME or XDG_CONFIG_HOME");
  return writePrivate(path, `${JSON.stringify(config, null, 2)}\n`);
}
