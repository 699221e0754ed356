// The caches that an isolate keeps from one request to the next. Any of them may be lost at any time. index.ts creates them
// once.
import type { FetchImplementation, JWTVerifyGetKey } from "jose";
import { type CheckedConfiguration, checkConfiguration } from "../shared/deployment/configuration.ts";
import type { Environment } from "./env.ts";
import { accessKeys, type Operator } from "./identity/operator.ts";
import { logConfiguration } from "./log.ts";
import { type MacKey, parseMacKeys } from "./identity/mac-keys.ts";

export interface Isolate {
  /** Checks the variables and secrets. An isolate has one environment for its whole life. */
  configuration: (env: Environment) => CheckedConfiguration;
  /** Parses KID_MAC_KEYS once: parsing and importing would take a tenth of each request's time. */
  macKeys: (configured: string) => readonly MacKey[];
  /** The public keys of a team of Cloudflare Access. jose caches fetched keys for ten minutes. */
  accessKeys: (team: string) => JWTVerifyGetKey;
  /**
   * Until when an address is above the limit of failures, as far as this isolate has seen. Asking the platform's counter
   * would count as a failure.
   */
  overLimitUntilMs: Map<string, number>;
  /** Named operators, by their secret's SHA-256 or their session's ID, and how long the entry is valid. */
  operators: Map<string, { operator: Operator; untilMs: number }>;
  /** Since when each check of GET /readyz has its state. */
  since: Map<string, { state: string; sinceMs: number }>;
}

export function newIsolate(
  fetch: FetchImplementation, // typically the global one
): Isolate {
  return {
    configuration: keepLatest((env) => {
      const checked = checkConfiguration({ ...env });
      logConfiguration(checked.findings);
      return checked;
    }),
    macKeys: keepLatest(parseMacKeys),
    accessKeys: keepLatest((team) => accessKeys(team, fetch)),
    overLimitUntilMs: new Map(),
    operators: new Map(),
    since: new Map(),
  };
}

/** Caches the result of `make` until its argument changes. */
function keepLatest<From, T>(make: (from: From) => T): (from: From) => T {
  let latest: { from: From; made: T } | undefined;
  return (from) => {
    if (latest?.from !== from) latest = { from, made: make(from) };
    return latest.made;
  };
}
