// Checks a deployment's variables and secret files before wrangler uploads anything.
import { parseArgs, parseEnv } from "node:util";
import { decodeJwt } from "jose";
import { faultOf } from "../../node-shim/base/fault.ts";
import type { CheckResult, Configured } from "../../shared/deployment/check-result.ts";
import { checkDeployment } from "../../shared/deployment/configuration.ts";
import { checkToken, knownToken } from "../../shared/deployment/token.ts";

export interface DeploySurroundings {
  /** Returns the variables in wrangler's configuration, usually by asking wrangler. Throws without a configuration. */
  readVariables: (named: { config?: string; env?: string }) => Configured;
  /** Reads a file, typically readFileSync. */
  readText: (file: string) => string;
  /** The present time, in milliseconds since 1970. */
  nowMs: number;
}

/** Checks the variables and secrets that `wrangler deploy` would deploy. Throws if a file in `args` is unreadable. */
export function checkBeforeDeploy(args: string[], surroundings: DeploySurroundings): CheckResult[] {
  const { values } = parseArgs({
    args,
    strict: false,
    options: {
      config: { type: "string", short: "c" },
      env: { type: "string", short: "e" },
      var: { type: "string", multiple: true },
      "secrets-file": { type: "string" },
    },
  });
  const { config, env, var: given = [], "secrets-file": file } = values;
  const named = { ...(isText(config) && { config }), ...(isText(env) && { env }) };
  const variables = { ...surroundings.readVariables(named), ...asVariables(given.filter(isText)) };
  const secrets = isText(file) ? readSecrets(file, surroundings.readText) : {};
  return checkSettings(variables, secrets, surroundings.nowMs);
}

/** Checks the variables and the given secrets, and if KUBE_TOKEN is among them, its expiry. */
export function checkSettings(variables: Configured, secrets: Configured, nowMs: number): CheckResult[] {
  const checks = checkDeployment(variables, secrets);
  return "KUBE_TOKEN" in secrets ? [...checks, tokenOf(secrets, variables, nowMs)] : checks;
}

const isText = (value: unknown): value is string => typeof value === "string";

/** Parses arguments `NAME:VALUE`, the format of wrangler's --var. */
function asVariables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((each) => [each.slice(0, each.indexOf(":")), each.slice(each.indexOf(":") + 1)]),
  );
}

/** Reads a file of secrets in one of wrangler's formats: JSON, or lines `NAME=value`. */
function readSecrets(file: string, readText: DeploySurroundings["readText"]): Record<string, unknown> {
  let text: string;
  try {
    text = readText(file);
  } catch (error) {
    throw new Error(`the secrets' file ${file} cannot be read: ${faultOf(error)}`, { cause: error });
  }
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { ...parseEnv(text) };
  }
}

function tokenOf(secrets: Configured, variables: Configured, nowMs: number): CheckResult {
  let claims = {};
  try {
    claims = decodeJwt(String(secrets["KUBE_TOKEN"]));
  } catch {
    // The token is not a JWT, so its expiry stays unknown.
  }
  return checkToken(knownToken("KUBE_TOKEN", claims), String(variables["DEPLOYMENT"]), nowMs);
}

/** Returns a line with the remedy for each failed check. `named` returns the operator's name of a variable. */
export function faultLines(checks: readonly CheckResult[], named = (check: string) => check): string {
  return checks
    .filter(({ state }) => state !== "ok")
    .map(({ check, state, message, cure }) => `${state}: ${named(check)}: ${message}\n  → ${cure}\n`)
    .join("");
}
