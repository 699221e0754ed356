// The operator's own configuration: which Workers there are, by names of the operator's, and where the secret of each
// is to be had. It holds no secret itself.
import { join } from "node:path";
import * as z from "zod/mini";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { readPrivate, writePrivate } from "./secrets.ts";

const savedContext = z.strictObject({
  /** The Worker's origin. */
  url: z.string(),
  /** Holds the secret; nobody else may read it. */
  secretFile: z.optional(z.string()),
  /** Prints the secret: a shell's command line. */
  secretCommand: z.optional(z.string()),
  /** `cloudflared access token` prints what Cloudflare Access asks for. */
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

/** null: there is no place for one. */
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
    `the configuration ${path} cannot be used (at ${at || "/"}: ${message}): correct or remove it`,
  );
}

export function writeConfig(place: ConfigPlace, config: OperatorConfig): Result<null> {
  const path = configPath(place);
  if (path === null) return failure("there is no place for a configuration: set HOME or XDG_CONFIG_HOME");
  return writePrivate(path, `${JSON.stringify(config, null, 2)}\n`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
