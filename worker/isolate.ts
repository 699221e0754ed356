// What an isolate remembers from one request to the next: caches alone, of which none is the truth and any may be gone.
// Made once, at index.ts; who wants to begin anew makes another.
import type { FetchImplementation, JWTVerifyGetKey } from "jose";
import { accessKeys } from "./identity/access.ts";
import { type MacKey, parseMacKeys } from "./identity/kid.ts";

export interface Isolate {
  /** The keys of KID_MAC_KEYS, parsed and imported: the same for every request, and a tenth of its time. */
  macKeys: (configured: string) => readonly MacKey[];
  /** The keys of a team of Cloudflare Access, as they were fetched; jose keeps them for ten minutes. */
  accessKeys: (team: string) => JWTVerifyGetKey;
  /**
   * Until when an address is over the limit of failures, as far as this isolate has seen: the platform's counter cannot
   * be asked without counting.
   */
  overLimitUntilMs: Map<string, number>;
}

export function newIsolate(
  fetch: FetchImplementation, // the global one
): Isolate {
  return {
    macKeys: keepLatest(parseMacKeys),
    accessKeys: keepLatest((team) => accessKeys(team, fetch)),
    overLimitUntilMs: new Map(),
  };
}

/** What is made of a configured text is kept until another text is configured. */
function keepLatest<T>(make: (text: string) => T): (text: string) => T {
  let latest: { text: string; made: T } | undefined;
  return (text) => {
    if (latest?.text !== text) latest = { text, made: make(text) };
    return latest.made;
  };
}
