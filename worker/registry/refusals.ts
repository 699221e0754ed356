// Logs refused enrolments: one entry a minute for each network and cause, with the refusals since the last entry.
import { network, parseIp } from "../../shared/kubernetes/ip.ts";
import type { Sample } from "../metrics/metrics.ts";
import { machineLog } from "../log.ts";
import { logRefusal } from "./audit.ts";

/** Why an enrolment is refused. Only operators see the cause. */
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
  /** The most entries in a minute, of all networks and causes together. */
  aMinute: 20,
  /** The most remembered pairs of network and cause. */
  remembered: 1000,
} as const;

export interface RefusedEnrolment {
  /** The unverified ID of the token in the request; undefined without one. */
  token: string | undefined;
  name: string;
  thumbprint: string;
  /** The address of the request; "" if the platform does not provide it. */
  address: string;
  cause: RefusalCause;
}

type Counted = { cause: string; count: number; since_ms: number };

interface Seen {
  loggedMs: number;
  leftOut: number;
}

/** Counts and records refusals. An eviction loses the counts since the last entry, or the last GET /metrics. */
export class Refusals {
  readonly #sql: SqlStorage;
  readonly #seen = new Map<string, Seen>();
  #minute = { sinceMs: Number.NEGATIVE_INFINITY, entries: 0 };
  /** The number of refusals of each cause that are not stored yet. */
  readonly #uncounted = new Map<RefusalCause, number>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Counts a refusal if `why` has a cause. A refusal with an entry also gets a line in the Worker's log. */
  noteRefused(asked: Omit<RefusedEnrolment, "cause">, why: object, nowMs: number): void {
    const cause = "cause" in why ? REFUSAL_CAUSES.find((each) => each === why.cause) : undefined;
    if (cause === undefined || !this.note({ ...asked, cause }, nowMs)) return;
    machineLog(asked.name)(`enrolment refused: ${cause}, token ${asked.token ?? "unknown"}`);
  }

  /** Counts a refusal. Returns true if the refusal gets an entry. */
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

  /** Returns the number of refusals by cause. Stores the numbers first, so that a reported number never falls. */
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

  /** Remembers the last entry about a pair of network and cause. Above the limit, the oldest pair is forgotten. */
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

/** Reports whether `sinceMs` is less than `everyMs` ago; false if the clock was set back. */
function isWithin(sinceMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < REFUSAL_LIMITS.everyMs;
}

function recordOf({ token, name, thumbprint, address, cause }: RefusedEnrolment, leftOut: number) {
  const from = address === "" ? [] : [`from ${address}`];
  const more = leftOut === 0 ? [] : [`and ${leftOut} more before`];
  const detail = [cause, `key ${thumbprint}`, ...from, ...more].join(", ");
  return { who: token === undefined ? "no token" : `token ${token}`, target: name, detail };
}
