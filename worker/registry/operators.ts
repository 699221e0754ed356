// Stores operators with names: the SHA-256 of each secret, the role and the expiry.
import type { ListedOperator } from "../../shared/protocol/administration-answers.ts";
import type { NewOperator, OperatorRole } from "../../shared/protocol/administration-api.ts";
import { OPERATOR_LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { cell, hasRow, type Row } from "../storage/query.ts";
import { AUDIT_KEPT_MS } from "./audit.ts";

/** The largest error of an operator's stored last use. Each update of the stored time writes a row. */
const USE_NOTED_EVERY_MS = 3600_000;

type OperatorRow = Row<NamedOperator> & {
  createdAtMs: number;
  createdBy: string;
  usedAtMs: number | null;
  revokedAtMs: number | null;
};
const COLUMNS = `name, role, created_at_ms AS createdAtMs, created_by AS createdBy, expires_at_ms AS expiresAtMs,
  used_at_ms AS usedAtMs, revoked_at_ms AS revokedAtMs`;

/** An operator whose secret is valid until `expiresAtMs`. */
export interface NamedOperator {
  name: string;
  role: OperatorRole;
  expiresAtMs: number;
}

export interface OperatorToCreate {
  request: NewOperator;
  /** The SHA-256 of the secret, in base64url. */
  sha256: string;
  createdBy: string;
}

/** Creates an operator. The name of a revoked or expired operator is free, but counts for the limit for a year. */
export function createOperator(
  sql: SqlStorage,
  { request, sha256, createdBy }: OperatorToCreate,
  nowMs: number,
): Result<ListedOperator> {
  const { name, role, expiresInSeconds } = request;
  sql.exec("DELETE FROM operators WHERE IFNULL(revoked_at_ms, expires_at_ms) < ?", nowMs - AUDIT_KEPT_MS);
  const valid = "SELECT 1 FROM operators WHERE name = ? AND revoked_at_ms IS NULL AND expires_at_ms > ?";
  if (hasRow(sql, valid, name, nowMs))
    return failure(`There is an operator ${name}: revoke them first, or take another name.`);
  if (cell<number>(sql, "SELECT COUNT(*) FROM operators WHERE name <> ?", name) >= OPERATOR_LIMITS.operators)
    return failure(
      `There are ${OPERATOR_LIMITS.operators} operators, which is the most; those that ended within a year count: take the name of one that did.`,
    );
  const expiresAtMs = nowMs + expiresInSeconds * 1000;
  const insert = `INSERT OR REPLACE INTO operators VALUES (?, ?, ?, ?, ?, ?, NULL, NULL) RETURNING ${COLUMNS}`;
  const row = sql.exec<OperatorRow>(insert, name, role, sha256, nowMs, createdBy, expiresAtMs).one();
  return success(listed(row, nowMs));
}

/** Returns the operators, sorted by name. */
export function listOperators(sql: SqlStorage, nowMs: number): ListedOperator[] {
  const rows = sql.exec<OperatorRow>(`SELECT ${COLUMNS} FROM operators ORDER BY name`).toArray();
  return rows.map((row) => listed(row, nowMs));
}

/** Revokes an operator. Safe to repeat. Fails if no operator has the name. */
export function revokeOperator(sql: SqlStorage, name: string, nowMs: number): Result<null> {
  const revoke = "UPDATE operators SET revoked_at_ms = IFNULL(revoked_at_ms, ?) WHERE name = ? RETURNING 1";
  return hasRow(sql, revoke, nowMs, name) ? success(null) : failure("no operator has this name");
}

/** Returns the operator with this secret, and records the use; null if the secret is unknown, revoked or expired. */
export function useOperator(sql: SqlStorage, sha256: string, nowMs: number): NamedOperator | null {
  const row = operatorRow(sql, sha256, nowMs);
  const sinceMs = nowMs - (row?.usedAtMs ?? 0);
  if (row && (sinceMs < 0 || sinceMs >= USE_NOTED_EVERY_MS))
    sql.exec("UPDATE operators SET used_at_ms = ? WHERE name = ?", nowMs, row.name);
  return named(row);
}

/** Returns the operator with this secret without recording a use; null if the secret is unknown, revoked or expired. */
export function findOperator(sql: SqlStorage, sha256: string, nowMs: number): NamedOperator | null {
  return named(operatorRow(sql, sha256, nowMs));
}

function operatorRow(sql: SqlStorage, sha256: string, nowMs: number): OperatorRow | undefined {
  const query = `SELECT ${COLUMNS} FROM operators WHERE sha256 = ? AND revoked_at_ms IS NULL AND expires_at_ms > ?`;
  return sql.exec<OperatorRow>(query, sha256, nowMs).toArray()[0];
}

const named = (row: OperatorRow | undefined): NamedOperator | null =>
  row ? { name: row.name, role: row.role, expiresAtMs: row.expiresAtMs } : null;

function listed(row: OperatorRow, nowMs: number): ListedOperator {
  const { name, role, createdBy, usedAtMs, revokedAtMs } = row;
  const at = (ms: number) => new Date(ms).toISOString();
  const ended = row.expiresAtMs <= nowMs ? "expired" : "valid";
  return {
    name,
    role,
    state: revokedAtMs === null ? ended : "revoked",
    createdAt: at(row.createdAtMs),
    createdBy,
    expiresAt: at(row.expiresAtMs),
    lastUsedAt: usedAtMs === null ? null : at(usedAtMs),
    ...(revokedAtMs !== null && { revokedAt: at(revokedAtMs) }),
  };
}
