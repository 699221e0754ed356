// Records enrolments that were refused, in a log of their own: whoever has no token must not displace what others caused.
// One entry for each address, reason and minute; the next one counts those that were left out.
import { network, parseIp } from "../../shared/kubernetes/ip.ts";
import type { Sample } from "../metrics/metrics.ts";
import { machineLog } from "../log.ts";
import { logRefusal } from "./audit.ts";

/** Why an enrolment is refused: for operators alone, a machine without a token learns nothing. */
export const REFUSAL_CAUSES = [
  "there is no such token",
  "the token is for other names",
  "the token did not sign it",
  "the token is revoked",
  "the token has expired",
  "the token is used up",
  "the key is refused for ever",
  "too many wait for the name",
  "the name has changed too often today",
] as const;
export type RefusalCause = (typeof REFUSAL_CAUSES)[number];

export const REFUSAL_LIMITS = {
  everyMs: 60_000,
  /** Entries in a minute, of all addresses and reasons together. */
  aMinute: 20,
  /** Addresses, each with a reason, that are remembered. */
  remembered: 1000,
} as const;

export interface RefusedEnrolment {
  /** ID of the token, as whoever asked has named it; undefined: it named none. */
  token: string | undefined;
  name: string;
  thumbprint: string;
  /** "" where the platform does not provide it. */
  address: string;
  cause: RefusalCause;
}

type Counted = { cause: string; count: number; since_ms: number };

interface Seen {
  loggedMs: number;
  leftOut: number;
}

/** In memory, since what an eviction loses is a count: of those that were left out since the last entry, or scrape. */
export class Refusals {
  readonly #sql: SqlStorage;
  readonly #seen = new Map<string, Seen>();
  #minute = { sinceMs: Number.NEGATIVE_INFINITY, entries: 0 };
  /** Not in the table of counts yet. */
  readonly #uncounted = new Map<RefusalCause, number>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The same for whatever an admission answered; one that has an entry is a line of the Worker's log as well. */
  noteRefused(asked: Omit<RefusedEnrolment, "cause">, why: object, nowMs: number): void {
    const cause = "cause" in why ? REFUSAL_CAUSES.find((each) => each === why.cause) : undefined;
    if (cause === undefined || !this.note({ ...asked, cause }, nowMs)) return;
    machineLog(asked.name)(`enrolment refused: ${cause}, token ${asked.token ?? "unknown"}`);
  }

  /** Returns whether it has an entry. */
  note(refusal: RefusedEnrolment, nowMs: number): boolean {
    this.#uncounted.set(refusal.cause, (this.#uncounted.get(refusal.cause) ?? 0) + 1);
    const ip = parseIp(refusal.address);
    const key = `${ip ? network(ip) : ""} ${refusal.cause}`;
    const seen = this.#seen.get(key) ?? { loggedMs: Number.NEGATIVE_INFINITY, leftOut: 0 };
    const isLogged = !isWithin(seen.loggedMs, nowMs) && this.#hasRoom(nowMs);
    this.#remember(key, isLogged ? { loggedMs: nowMs, leftOut: 0 } : { ...seen, leftOut: seen.leftOut + 1 });
    if (!isLogged) return false;
    this.#minute.entries++;
    logRefusal(this.#sql, recordOf(refusal, seen.leftOut), nowMs);
    this.#storeCount(refusal.cause, nowMs);
    return true;
  }

  /**
   * How many there were of each cause. What was said once is stored before, so that no count ever falls; that writes a row
   * for each cause, if there was one since the last time.
   */
  counts(nowMs: number): Sample[] {
    for (const cause of this.#uncounted.keys()) this.#storeCount(cause, nowMs);
    const rows = this.#sql.exec<Counted>("SELECT * FROM refusal_counts").toArray();
    return REFUSAL_CAUSES.map((reason) => {
      const row = rows.find(({ cause }) => cause === reason);
      return { labels: { reason }, value: row?.count ?? 0, ...(row && { sinceMs: row.since_ms }) };
    });
  }

  #storeCount(cause: RefusalCause, nowMs: number): void {
    const query =
      "INSERT INTO refusal_counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count";
    this.#sql.exec(query, cause, this.#uncounted.get(cause) ?? 0, nowMs);
    this.#uncounted.delete(cause);
  }

  /** Of too many the oldest is forgotten. */
  #remember(key: string, seen: Seen): void {
    this.#seen.delete(key);
    if (this.#seen.size >= REFUSAL_LIMITS.remembered) this.#seen.delete(this.#seen.keys().next().value ?? "");
    this.#seen.set(key, seen);
  }

  #hasRoom(nowMs: number): boolean {
    if (!isWithin(this.#minute.sinceMs, nowMs)) this.#minute = { sinceMs: nowMs, entries: 0 };
    return this.#minute.entries < REFUSAL_LIMITS.aMinute;
  }
}

/** A clock that was put back ends the minute. */
function isWithin(sinceMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < REFUSAL_LIMITS.everyMs;
}

function recordOf({ token, name, thumbprint, address, cause }: RefusedEnrolment, leftOut: number) {
  const from = address === "" ? [] : [`from ${address}`];
  const more = leftOut === 0 ? [] : [`and ${leftOut} more before`];
  const detail = [cause, `key ${thumbprint}`, ...from, ...more].join(", ");
  return { who: token === undefined ? "no token" : `token ${token}`, target: name, detail };
}
