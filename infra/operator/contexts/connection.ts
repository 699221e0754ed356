// Finds the Worker of a command and its credentials: by flags, the environment, or a context of the operator's
// configuration. Never prints a secret, and never sends a secret to a Worker that it was not given for.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { faultOf } from "../../../node-shim/base/fault.ts";
import { originOf } from "../../../node-shim/worker-link/origin.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import type { WorkerConnection } from "../client.ts";
import { fault, type OperatorFault } from "../fault.ts";
import { type ConfigPlace, readConfig, type SavedContext } from "./config-file.ts";
import { accessToken, type CommandEnvironment, printedSecret, secretInFile, secretText } from "./secrets.ts";

export interface ConnectionFlags {
  url?: string;
  secretFile?: string;
  context?: string;
  /** The path of the state folder of `npm start`. */
  state?: string;
  /** The time limit of a request in milliseconds; Infinity for none. */
  requestTimeout?: number;
}

/** The environment variables that choose the Worker and its credentials. */
export interface OperatorEnvironment extends ConfigPlace, CommandEnvironment {
  ROLLCALL_URL?: string | undefined;
  ROLLCALL_SECRET?: string | undefined;
  ROLLCALL_SECRET_FILE?: string | undefined;
  ROLLCALL_CONTEXT?: string | undefined;
  /** The former names of ROLLCALL_SECRET and ROLLCALL_SECRET_FILE. Both still work. */
  ROLLCALL_ADMIN_SECRET?: string | undefined;
  ROLLCALL_ADMIN_SECRET_FILE?: string | undefined;
  CF_ACCESS_CLIENT_ID?: string | undefined;
  CF_ACCESS_CLIENT_SECRET?: string | undefined;
}

const WHICH =
  "which Worker? Pass --url https://HOST, or --state ./FOLDER for npm start, set ROLLCALL_URL, or store it: rollcall context add NAME --url https://HOST";
const NO_CREDENTIALS =
  "no credentials: pass --secret-file, set ROLLCALL_SECRET or ROLLCALL_SECRET_FILE, set CF_ACCESS_CLIENT_ID and " +
  "CF_ACCESS_CLIENT_SECRET for a service token of Cloudflare Access, or store where they come from: rollcall context add --help";

/** Returns the Worker and the credentials, from flags, else the environment, else the configuration. */
export function connectionOf(
  flags: ConnectionFlags,
  environment: OperatorEnvironment,
): Result<WorkerConnection, OperatorFault> {
  const context = contextOf(flags, environment);
  if (!context.ok) return fault("usage", context.error);
  const { url, source } = context.value;
  let origin: string;
  try {
    origin = originOf(url, source);
  } catch (error) {
    return fault("usage", faultOf(error));
  }
  const headers = credentials(origin, context.value, flags, environment);
  if (!headers.ok) return fault("usage", headers.error);
  if (Object.keys(headers.value).length === 0) return fault("usage", NO_CREDENTIALS);
  const { requestTimeout: withinMs } = flags;
  return success({ url: origin, headers: headers.value, ...(withinMs !== undefined && { withinMs }) });
}

export function contextOf(flags: ConnectionFlags, environment: OperatorEnvironment): Result<FoundContext> {
  const { url, state } = flags;
  if (state !== undefined)
    return (url ?? flags.context) === undefined
      ? localContext(state)
      : failure("--state, --url and --context each name a Worker: pass one of them");
  const name = flags.context ?? (url === undefined ? environment.ROLLCALL_CONTEXT || undefined : undefined);
  if (name !== undefined) return named(name, url, environment);
  if (url !== undefined) return success({ url, source: "--url", takesEnvironment: true });
  const { ROLLCALL_URL: set } = environment;
  if (set) return success({ url: set, source: "ROLLCALL_URL", takesEnvironment: true });
  const config = readConfig(environment);
  if (!config.ok) return config;
  const { current } = config.value;
  return current === undefined ? failure(WHICH) : named(current, undefined, environment);
}

/** Reads a context of the configuration. If given, `url` replaces the context's URL. */
function named(
  name: string,
  url: string | undefined,
  environment: OperatorEnvironment,
): Result<FoundContext> {
  const config = readConfig(environment);
  if (!config.ok) return config;
  const saved = Object.hasOwn(config.value.contexts, name) ? config.value.contexts[name] : undefined;
  if (!saved) return failure(`no context ${name}: rollcall context list shows all contexts`);
  const isOfItsOwn = saved.secretFile ?? saved.secretCommand ?? saved.cloudflared;
  return success({
    ...saved,
    url: url ?? saved.url,
    source: url === undefined ? `context ${name}` : "--url",
    takesEnvironment: isOfItsOwn === undefined,
  });
}

function credentials(
  origin: string,
  context: FoundContext,
  { secretFile }: ConnectionFlags,
  environment: OperatorEnvironment,
): Result<Record<string, string>> {
  const secret = secretOf(secretFile, context, environment);
  if (!secret.ok) return secret;
  const access = context.cloudflared ? accessToken(origin, environment) : success(undefined);
  if (!access.ok) return access;
  const { CF_ACCESS_CLIENT_ID: id, CF_ACCESS_CLIENT_SECRET: serviceSecret } = environment;
  const takesService = context.takesEnvironment && id && serviceSecret;
  return success({
    ...(secret.value && { authorization: `Bearer ${secret.value}` }),
    ...(access.value && { "cf-access-token": access.value }),
    ...(takesService && { "cf-access-client-id": id, "cf-access-client-secret": serviceSecret }),
  });
}

/** Returns the secret for the Worker, or undefined if neither a flag, the context nor the environment has one. */
function secretOf(
  flag: string | undefined,
  context: FoundContext,
  environment: OperatorEnvironment,
): Result<string | undefined> {
  if (flag !== undefined) return secretInFile(flag);
  if (context.secretFile !== undefined) return secretInFile(context.secretFile);
  if (context.secretCommand !== undefined) return printedSecret(context.secretCommand, environment);
  if (!context.takesEnvironment) return success(undefined);
  for (const name of ["ROLLCALL_SECRET", "ROLLCALL_ADMIN_SECRET"] as const)
    if (environment[name]) return secretText(environment[name], name);
  const file = environment.ROLLCALL_SECRET_FILE || environment.ROLLCALL_ADMIN_SECRET_FILE;
  return file ? secretInFile(file) : success(undefined);
}

/** The context of a command, before its secret is read. */
interface FoundContext extends Omit<SavedContext, "url"> {
  /** The URL as it was given. originOf checks it later. */
  url: string;
  /** The source of the URL for messages, like `--url`, `ROLLCALL_URL` or `context prod`. */
  source: string;
  /** true if the secrets in the environment are for this Worker. */
  takesEnvironment: boolean;
}

const stateFile = z.object({ rollcallState: z.literal(1), workerPort: z.int() });

function localContext(folder: string): Result<FoundContext> {
  const state = stateFile.safeParse(readState(join(folder, "state.json")));
  if (!state.success)
    return failure(
      `--state ${folder}: no local cluster has run there; npm start -- --state ${folder} starts one`,
    );
  return success({
    url: `http://127.0.0.1:${state.data.workerPort}`,
    secretFile: join(folder, "admin-secret"),
    source: "--state",
    takesEnvironment: false,
  });
}

function readState(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}
