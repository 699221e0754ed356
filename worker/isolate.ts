// What an isolate keeps from one request to the next: caches alone, any of which may be lost at any time. index.ts
// makes them once.
import type { FetchImplementation, JWTVerifyGetKey } from "jose";
import { accessKeys } from "./identity/access.ts";
import { type MacKey, parseMacKeys } from "./identity/mac-keys.ts";

export interface Isolate {
  /** The keys of KID_MAC_KEYS, parsed and imported, which would take a tenth of each request's time. */
  macKeys: (configured: string) => readonly MacKey[];
  /** The keys of a team of Cloudflare Access, as they were fetched; jose keeps them for ten minutes. */
  accessKeys: (team: string) => JWTVerifyGetKey;
  /**
   * Until when an address is above the limit of failures, as far as this isolate has seen: reading the platform's
   * counter would count.
   */
  overLimitUntilMs: Map<string, number>;
}

export function newIsolate(
  fetch: FetchImplementation, // typically the global one
): Isolate {
  return {
    macKeys: keepLatest(parseMacKeys),
    accessKeys: keepLatest((team) => accessKeys(team, fetch)),
    overLimitUntilMs: new Map(),
  };
}

/** Keeps what `make` returned until another text is configured. */
function keepLatest<T>(make: (text: string) => T): (text: string) => T {
  let latest: { text: string; made: T } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, made: make(text) };
    return latest.made;
  };
}
