// Stores join tokens: public keys, grants, and the number of uses.
import { ALL, type DecidedRequest, type Grant } from "../../shared/protocol/join-tokens.ts";
import type { ListedToken } from "../../shared/protocol/operator-answers.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { RowsPage } from "../storage/query.ts";
import { audit } from "./audit.ts";

/** The time that a machine waits for an operator. A later request starts a new wait. */
export const PENDING_MS = 24 * 3600 * 1000;

export type TokenState = "valid" | "used up" | "expired" | "revoked";

export interface Token extends Omit<
  ListedToken,
  keyof Grant | "namesBelow" | "note" | "state" | "createdAt" | "expiresAt" | "revokedAt"
> {
  state: TokenState;
  /** The `x` of the token's public JWK. */
  key: string;
  grant: Grant;
  createdAtMs: number;
  expiresAtMs: number;
  revokedAtMs: number | null;
}

type TokenRow = Omit<Token, "rejoin" | "state" | "grant"> & { rejoin: number; allowed: string };

export interface NewToken {
  id: string;
  key: string;
  request: DecidedRequest;
  createdBy: string;
  nowMs: number;
}

/** Stores a join token, with its entry in the audit log. */
export function createToken(sql: SqlStorage, token: NewToken): ListedToken {
  const { id, request, createdBy, nowMs } = token;
  insertToken(sql, token);
  audit(sql, { who: createdBy, what: "token.create", target: id, detail: request.names }, nowMs);
  return listedToken(findToken(sql, id, nowMs)!);
}

export function insertToken(sql: SqlStorage, { id, key, request, createdBy, nowMs }: NewToken): void {
  const { names, rejoin, uses, expiresInSeconds, ...asked } = request;
  const grant: Grant = { ...asked, ...(asked.mayAddress && { exactNames: true }) };
  sql.exec(
    "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, NULL)",
    id,
    key,
    names,
    rejoin ? 1 : 0,
    uses,
    JSON.stringify(grant),
    nowMs,
    createdBy,
    nowMs + expiresInSeconds * 1000,
  );
}

const SELECT = `SELECT id, key, names, rejoin, uses, used, allowed, created_at_ms AS createdAtMs, created_by AS createdBy,
  expires_at_ms AS expiresAtMs, revoked_at_ms AS revokedAtMs,
  (SELECT COUNT(*) FROM pending WHERE token = tokens.id AND asked_at_ms > ?) AS reserved FROM tokens`;

export function findToken(sql: SqlStorage, id: string, nowMs: number): Token | undefined {
  const [row] = sql.exec<TokenRow>(`${SELECT} WHERE id = ?`, nowMs - PENDING_MS, id);
  return row && tokenOf(row, nowMs);
}

/** Returns a page of the join tokens, newest first. */
export function listTokens(sql: SqlStorage, { after, limit }: RowsPage, nowMs: number): Token[] {
  const [atMs = Number.MAX_SAFE_INTEGER, id = ""] = after?.split(".") ?? [];
  const query = `${SELECT} WHERE (created_at_ms, id) < (?, ?) ORDER BY created_at_ms DESC, id DESC LIMIT ?`;
  const rows = sql.exec<TokenRow>(query, nowMs - PENDING_MS, Number(atMs), id, limit);
  return rows.toArray().map((row) => tokenOf(row, nowMs));
}

/** The time for which an ended token stays in the table. */
export const ENDED_KEPT_MS = 90 * 24 * 3600 * 1000;
/** The most ended tokens that one call removes. */
export const ENDED_AT_ONCE = 500;

/**
 * Moves tokens that have ended long ago to the audit log. A token stays while a machine has its name by it, since the
 * token has the machine's grant.
 */
export function endTokens(sql: SqlStorage, nowMs: number): void {
  const ended = `${SELECT} WHERE MIN(expires_at_ms, IFNULL(revoked_at_ms, expires_at_ms)) <= ?
    AND id NOT IN (SELECT token FROM pins WHERE revoked_at_ms IS NULL) LIMIT ?`;
  const rows = sql.exec<TokenRow>(ended, nowMs - PENDING_MS, nowMs - ENDED_KEPT_MS, ENDED_AT_ONCE);
  for (const { id, names, used, uses } of rows.toArray()) {
    sql.exec("DELETE FROM tokens WHERE id = ?", id);
    sql.exec("DELETE FROM enrolments WHERE token = ?", id);
    const detail = `${names}, ${used} of ${uses} uses`;
    audit(sql, { who: "rollcall", what: "token.end", target: id, detail }, nowMs);
  }
}

/** Revokes a token. Machines that wait with this token stop waiting. */
export function revokeToken(sql: SqlStorage, id: string, nowMs: number): Result<null> {
  if (!findToken(sql, id, nowMs)) return failure("no such token");
  sql.exec("UPDATE tokens SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL", nowMs, id);
  sql.exec("DELETE FROM pending WHERE token = ?", id);
  return success(null);
}

export function countUse(sql: SqlStorage, id: string): void {
  sql.exec("UPDATE tokens SET used = used + 1 WHERE id = ?", id);
}

/** The note of a token without limits whose request did not decide on limits. */
const UNDECIDED =
  "an absent may field allows all values, since the request had no mayAll; the next version will read an absent mayAll as false";

export function listedToken(token: Token): ListedToken {
  const { key: _, grant, createdAtMs, createdBy, expiresAtMs, revokedAtMs, ...listed } = token;
  const { exactNames, ...limits } = grant;
  return {
    ...listed,
    createdBy,
    ...limits,
    ...(limits.mayAddress && exactNames !== true && { namesBelow: true }),
    ...(Object.keys(ALL).some((list) => !(list in limits)) && { note: UNDECIDED }),
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: new Date(expiresAtMs).toISOString(),
    ...(revokedAtMs !== null && { revokedAt: new Date(revokedAtMs).toISOString() }),
  };
}

function tokenOf({ allowed, ...row }: TokenRow, nowMs: number): Token {
  const state = stateOf(row, nowMs);
  return { ...row, rejoin: row.rejoin === 1, state, grant: JSON.parse(allowed) as Grant };
}

function stateOf(row: Omit<TokenRow, "allowed">, nowMs: number): TokenState {
  if (row.revokedAtMs !== null) return "revoked";
  if (row.expiresAtMs <= nowMs) return "expired";
  return row.used + row.reserved >= row.uses ? "used up" : "valid";
}
