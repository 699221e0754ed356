// Holds the caches that an isolate keeps between requests and may lose at any time. index.ts creates them once.
import type { FetchImplementation, JWTVerifyGetKey } from "jose";
import { type CheckedConfiguration, checkConfiguration } from "../shared/deployment/configuration.ts";
import { type Environment, placed } from "./env.ts";
import { accessKeys, type Operator } from "./identity/operator.ts";
import { logConfiguration } from "./log.ts";
import { type MacKey, parseMacKeys } from "./identity/mac-keys.ts";
import type { KnownCluster } from "./kube/token.ts";

export interface Isolate {
  /** Checks the variables and secrets, once for the isolate, whose environment never changes. */
  configuration: (env: Environment) => CheckedConfiguration;
  /** Returns `placed(env)`, once for the isolate. */
  placed: (env: Environment) => Environment;
  /** Parses KID_MAC_KEYS, once for the isolate: parsing and importing would take a tenth of each request's time. */
  macKeys: (configured: string) => readonly MacKey[];
  /** Returns the public keys of a team of Cloudflare Access. jose caches fetched keys for ten minutes. */
  accessKeys: (team: string) => JWTVerifyGetKey;
  /** Until when each address is above the limit. Asking the platform's counter would count as a failure. */
  overLimitUntilMs: Map<string, number>;
  /** Named operators, by the SHA-256 of their secret or by the ID of their session, with the expiry of the entry. */
  operators: Map<string, { operator: Operator; untilMs: number }>;
  /** The knowledge of the cluster that this isolate's objects share. */
  knownCluster: (token: string) => KnownCluster;
  /**
   * The IDs of all join tokens, for machines that send no stamp; null before the first list. `askedMs`: the time of the
   * last request for the list.
   */
  joinTokens: { ids: Set<string> | null; askedMs: number };
  /** The time since which each check of GET /readyz has its state. */
  since: Map<string, { state: string; sinceMs: number; okAtMs: number }>;
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
    placed: keepLatest(placed),
    macKeys: keepLatest(parseMacKeys),
    accessKeys: keepLatest((team) => accessKeys(team, fetch)),
    overLimitUntilMs: new Map(),
    operators: new Map(),
    joinTokens: { ids: null, askedMs: 0 },
    since: new Map(),
    knownCluster: keepLatest(() => ({ token: {} })),
  };
}

/** Returns a function that calls `make` only if its argument has changed since the last call. */
export function keepLatest<From, T>(make: (from: From) => T): (from: From) => T {
  let latest: { from: From; made: T } | undefined;
  return (from) => {
    if (latest?.from !== from) latest = { from, made: make(from) };
    return latest.made;
  };
}
