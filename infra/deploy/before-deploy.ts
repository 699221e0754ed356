// Checks a deployment's variables, and the secrets that come with it, before wrangler uploads anything. Secrets that the Worker
// already has cannot be read: wrangler checks that they exist.
import { parseArgs, parseEnv } from "node:util";
import { decodeJwt } from "jose";
import { faultOf } from "../../node-shim/base/fault.ts";
import type { CheckResult, Configured } from "../../shared/deployment/check-result.ts";
import { checkDeployment } from "../../shared/deployment/configuration.ts";
import { checkToken, knownToken } from "../../shared/deployment/token.ts";

export interface DeploySurroundings {
  /** The variables of wrangler's configuration, typically by wrangler itself. Throws where there is none. */
  readVariables: (named: { config?: string; env?: string }) => Configured;
  /** Typically readFileSync. */
  readText: (file: string) => string;
  /** Milliseconds since 1970. */
  nowMs: number;
}

/** `args`: those of `wrangler deploy`. Throws, in one line, where a file of theirs cannot be read. */
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

/** Checks variables, the known secrets, and when the token expires. */
export function checkSettings(variables: Configured, secrets: Configured, nowMs: number): CheckResult[] {
  const checks = checkDeployment(variables, secrets);
  return "KUBE_TOKEN" in secrets ? [...checks, tokenOf(secrets, variables, nowMs)] : checks;
}

const isText = (value: unknown): value is string => typeof value === "string";

/** `NAME:VALUE`, as wrangler's --var takes them. */
function asVariables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((each) => [each.slice(0, each.indexOf(":")), each.slice(each.indexOf(":") + 1)]),
  );
}

/** JSON, or lines `NAME=value`, as wrangler takes them. */
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
    // Not a JWT: its expiry is not known.
  }
  return checkToken(knownToken("KUBE_TOKEN", claims), String(variables["DEPLOYMENT"]), nowMs);
}

/** A line for each check that is not ok, with the remedy; "" if all are ok. `named`: the operator's name of a variable. */
export function faultLines(checks: readonly CheckResult[], named = (check: string) => check): string {
  return checks
    .filter(({ state }) => state !== "ok")
    .map(({ check, state, message, cure }) => `${state}: ${named(check)}: ${message}\n  → ${cure}\n`)
    .join("");
}
