// Limits the load that all machines of one join token, and of the deployment, cause together. The limits of single
// machines do not bound this load, since a token may enrol any number of names.
import { type CheckResult, warning } from "../../shared/deployment/check-result.ts";
import { cell, type Row } from "../storage/query.ts";
import type { NodeLoad, NodeTurn } from "../storage/records.ts";
import { DEPLOYMENT_SHARES, RATE_LIMITS, reserve, shares } from "../storage/token-bucket.ts";

export const SHARES_MIGRATION = `
  CREATE TABLE shares (
    token TEXT PRIMARY KEY, nodes REAL NOT NULL, bytes REAL NOT NULL, at_ms INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE delivery_shares (
    receiver TEXT NOT NULL, who TEXT NOT NULL, left_now REAL NOT NULL, at_ms INTEGER NOT NULL,
    PRIMARY KEY (receiver, who)
  ) WITHOUT ROWID;
  CREATE TABLE held_back (
    what TEXT NOT NULL, who TEXT NOT NULL, since_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    PRIMARY KEY (what, who)
  ) WITHOUT ROWID;`;

/** Stands for the deployment in the place of a token's ID. */
export const DEPLOYMENT = "deployment";

/** A load that is limited. Operators read these words. */
export type SharedLoad = "new Nodes" | "bytes of Nodes" | "deliveries" | "history";

/**
 * The longest wait of a granted turn. One token's turns within this time use less than the deployment's burst, so one
 * token alone delays no other token.
 */
export const LONGEST_TURN_MS = 300_000;

/** The time without use after which each bucket is full again. */
const FULL_AFTER_MS = 2 * LONGEST_TURN_MS;

type Share = Row<{ nodes: number; bytes: number; atMs: number }>;

export class NodeShares {
  readonly #sql: SqlStorage;
  readonly #heldBack: HeldBack;

  constructor(sql: SqlStorage, heldBack: HeldBack) {
    this.#sql = sql;
    this.#heldBack = heldBack;
  }

  /** Assigns a time for a machine's load. `factor`: the deployment's SHARED_LIMITS_FACTOR. */
  take(token: string, load: NodeLoad, factor: number, nowMs: number): NodeTurn {
    const owners = [
      { who: token, count: factor },
      { who: DEPLOYMENT, count: factor * DEPLOYMENT_SHARES },
    ];
    const asked = owners.map(({ who, count }) => {
      const known = this.#known(who);
      const bucket = (of: "nodes" | "bytes") => known && { left: known[of], atMs: known.atMs };
      const nodes = reserve(bucket("nodes"), shares(RATE_LIMITS.newNodes, count), load.nodes, nowMs);
      const bytes = reserve(bucket("bytes"), shares(RATE_LIMITS.nodeBytes, count), load.bytes, nowMs);
      const what: SharedLoad = nodes.waitMs > bytes.waitMs ? "new Nodes" : "bytes of Nodes";
      return { who, what, waitMs: Math.max(nodes.waitMs, bytes.waitMs), nodes, bytes };
    });
    const longest = asked.reduce((a, b) => (b.waitMs > a.waitMs ? b : a));
    const { who, what, waitMs } = longest;
    if (waitMs > 0) this.#heldBack.note(what, who, nowMs);
    const limit = waitMs > 0 ? `${what} of ${who === DEPLOYMENT ? "the deployment" : "its join token"}` : "";
    if (waitMs > LONGEST_TURN_MS) return { waitMs: LONGEST_TURN_MS, isGranted: false, limit };
    this.#sql.exec("DELETE FROM shares WHERE at_ms < ?", nowMs - FULL_AFTER_MS);
    const put = "INSERT OR REPLACE INTO shares VALUES (?, ?, ?, ?)";
    for (const each of asked)
      this.#sql.exec(put, each.who, each.nodes.bucket.left, each.bytes.bucket.left, nowMs);
    return { waitMs, isGranted: true, limit };
  }

  #known(who: string): Share | undefined {
    const query = "SELECT nodes, bytes, at_ms AS atMs FROM shares WHERE token = ?";
    return this.#sql.exec<Share>(query, who).toArray()[0];
  }
}

/** A limit that holds machines back now. */
export interface Held {
  what: SharedLoad;
  /** The ID of a join token, DEPLOYMENT, or what the deliveries are about. */
  who: string;
  sinceMs: number;
}

export const HELD_LIMITS = {
  /** The time after which a limit without a new effect no longer counts as reached. */
  forMs: 600_000,
  /** The interval at which a limit's lasting effect is stored. */
  storedEveryMs: 60_000,
  entries: 50,
} as const;

/** Remembers, for operators, which limits hold which machines back. */
export class HeldBack {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  note(what: SharedLoad, who: string, nowMs: number): void {
    const { forMs, storedEveryMs, entries } = HELD_LIMITS;
    const known = "SELECT COUNT(*) FROM held_back WHERE what = ? AND who = ? AND last_ms > ?";
    if (cell<number>(this.#sql, known, what, who, nowMs - storedEveryMs) > 0) return;
    this.#sql.exec("DELETE FROM held_back WHERE last_ms < ?", nowMs - forMs);
    const put = `INSERT INTO held_back SELECT ?1, ?2, ?3, ?3 WHERE (SELECT COUNT(*) FROM held_back) < ?4
      ON CONFLICT DO UPDATE SET last_ms = excluded.last_ms`;
    this.#sql.exec(put, what, who, nowMs, entries);
  }

  list(nowMs: number): Held[] {
    const query = `SELECT what, who, since_ms AS sinceMs FROM held_back WHERE last_ms >= ? ORDER BY since_ms`;
    return this.#sql.exec<Row<Held>>(query, nowMs - HELD_LIMITS.forMs).toArray();
  }
}

/** Describes the reached limits for GET /readyz. History alone is no warning: its limit only deletes lines. */
export function checkSharedLimits(held: readonly Held[]): CheckResult {
  const check = "limits";
  if (held.length === 0) return { check, state: "ok", message: "no limit that machines share is reached" };
  const message = held
    .map(({ what, who, sinceMs }) => `${what} of ${who}, since ${new Date(sinceMs).toISOString()}`)
    .join("; ");
  if (held.every(({ what }) => what === "history")) return { check, state: "ok", message };
  const cure =
    "revoke a join token that should not do this; for your own machines, raise SHARED_LIMITS_FACTOR";
  return { check, ...warning(`these wait: ${message}`, cure) };
}

export const FORM_TURNS = {
  /** The number of Nodes that change form per second: the apiserver sends each whole Node to every watcher. */
  aSecond: 10,
} as const;

const KEY = "form turns to, in milliseconds";
/** The stored time is this far ahead of the assigned times, so that the time is stored at most once a second. */
const STORED_AHEAD_MS = 1000;

export class FormTurns {
  readonly #sql: SqlStorage;
  /** The next time at which a machine may change its Node's form, in milliseconds since 1970. */
  #nextMs: number;
  #storedMs: number;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const [row] = sql.exec<{ value: string }>("SELECT value FROM index_upkeep WHERE key = ?", KEY);
    this.#storedMs = Number(row?.value ?? 0);
    // After an eviction, the stored time is later than all times that were assigned before.
    this.#nextMs = this.#storedMs;
  }

  /** Assigns the next free time and returns the wait in milliseconds. */
  take(nowMs: number): number {
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + 1000 / FORM_TURNS.aSecond;
    if (this.#nextMs > this.#storedMs) {
      const storedMs = this.#nextMs + STORED_AHEAD_MS;
      this.#sql.exec("INSERT OR REPLACE INTO index_upkeep VALUES (?, ?)", KEY, String(storedMs));
      this.#storedMs = storedMs;
    }
    return atMs - nowMs;
  }
}
