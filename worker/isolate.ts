// What an isolate keeps from one request to the next: caches alone, any of which may be lost at any time. index.ts
// makes them once.
import type { FetchImplementation, JWTVerifyGetKey } from "jose";
import { type CheckedConfiguration, checkConfiguration } from "../shared/deployment/configuration.ts";
import type { Environment } from "./env.ts";
import { accessKeys, type Operator } from "./identity/operator.ts";
import { logConfiguration } from "./log.ts";
import { type MacKey, parseMacKeys } from "./identity/mac-keys.ts";

export interface Isolate {
  /** What is wrong with the variables and secrets. The platform gives an isolate one environment for all its time. */
  configuration: (env: Environment) => CheckedConfiguration;
  /** The keys of KID_MAC_KEYS, parsed and imported, which would take a tenth of each request's time. */
  macKeys: (configured: string) => readonly MacKey[];
  /** The keys of a team of Cloudflare Access, as they were fetched; jose keeps them for ten minutes. */
  accessKeys: (team: string) => JWTVerifyGetKey;
  /**
   * Until when an address is above the limit of failures, as far as this isolate has seen: reading the platform's
   * counter would count.
   */
  overLimitUntilMs: Map<string, number>;
  /** Operators with names, by their secrets' SHA-256, or by their sessions' IDs, and how long each is taken for good. */
  operators: Map<string, { operator: Operator; untilMs: number }>;
  /** Since when each check of GET /readyz has been as it is. */
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

/** Keeps what `make` returned until something else is configured. */
function keepLatest<From, T>(make: (from: From) => T): (from: From) => T {
  let latest: { from: From; made: T } | undefined;
  return (from) => {
    if (latest?.from !== from) latest = { from, made: make(from) };
    return latest.made;
  };
}
