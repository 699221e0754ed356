// Stores operators with names: the SHA-256 of each secret, the role and the expiry.
import { parseOperatorSelector } from "../../shared/fleet/search-filter.ts";
import type { ListedOperator } from "../../shared/protocol/administration-answers.ts";
import {
  type NewOperator,
  OPERATOR_ROLES,
  type OperatorRole,
} from "../../shared/protocol/administration-api.ts";
import { OPERATOR_LIMITS } from "../../shared/protocol/limits.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { cell, hasRow } from "../storage/query.ts";
import { AUDIT_KEPT_MS } from "./audit.ts";

/** The largest error of an operator's stored last use. Each update of the stored time writes a row. */
const USE_NOTED_EVERY_MS = 3600_000;

type OperatorRow = {
  name: string;
  /** The role; for an operator with a selector a space and the selector follow. */
  role: string;
  expiresAtMs: number;
  createdAtMs: number;
  createdBy: string;
  usedAtMs: number | null;
  revokedAtMs: number | null;
};
/**
 * The prefix of the stored hashes of operators with a selector. An earlier Worker would ignore the selector; with the
 * prefix it does not find the operator, and refuses the secret.
 */
const SELECTED = "selected ";

const COLUMNS = `name, role, created_at_ms AS createdAtMs, created_by AS createdBy, expires_at_ms AS expiresAtMs,
  used_at_ms AS usedAtMs, revoked_at_ms AS revokedAtMs`;

/** An operator whose secret is valid until `expiresAtMs`. */
export interface NamedOperator {
  name: string;
  role: OperatorRole;
  /** The label selector of the operator's machines; absent for all machines. */
  selector?: string;
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
  const { name, role, selector, expiresInSeconds } = request;
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
  const [stored, hash] = selector === undefined ? [role, sha256] : [`${role} ${selector}`, SELECTED + sha256];
  const row = sql.exec<OperatorRow>(insert, name, stored, hash, nowMs, createdBy, expiresAtMs).one();
  return success(listed(row, nowMs));
}

/** Returns the audit log's record of a new operator, with the rights: `view of site=berlin, 3600 s`. */
export function operatorRecord({ name, role, selector, expiresInSeconds }: NewOperator, who: string) {
  const detail = `${role}${selector === undefined ? "" : ` of ${selector}`}, ${expiresInSeconds} s`;
  return { who, what: "operator.create", target: name, detail } as const;
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

export interface SecretToFind {
  /** The SHA-256 of the secret, in base64url. */
  sha256: string;
  /** true if the caller confines an operator with a selector; otherwise such operators are unknown. */
  knowsSelectors: boolean;
}

/** As `findOperator`, and records the use. */
export function useOperator(sql: SqlStorage, secret: SecretToFind, nowMs: number): NamedOperator | null {
  const row = operatorRow(sql, secret, nowMs);
  const sinceMs = nowMs - (row?.usedAtMs ?? 0);
  if (row && (sinceMs < 0 || sinceMs >= USE_NOTED_EVERY_MS))
    sql.exec("UPDATE operators SET used_at_ms = ? WHERE name = ?", nowMs, row.name);
  return named(row);
}

/** Returns the operator with this secret; null if the secret is unknown, revoked or expired. */
export function findOperator(sql: SqlStorage, secret: SecretToFind, nowMs: number): NamedOperator | null {
  return named(operatorRow(sql, secret, nowMs));
}

function operatorRow(
  sql: SqlStorage,
  { sha256, knowsSelectors }: SecretToFind,
  nowMs: number,
): OperatorRow | undefined {
  const hashes = JSON.stringify(knowsSelectors ? [SELECTED + sha256, sha256] : [sha256]);
  const query = `SELECT ${COLUMNS} FROM operators WHERE sha256 IN (SELECT value FROM json_each(?))
    AND revoked_at_ms IS NULL AND expires_at_ms > ?`;
  return sql.exec<OperatorRow>(query, hashes, nowMs).toArray()[0];
}

const named = (row: OperatorRow | undefined): NamedOperator | null =>
  row ? { name: row.name, ...rightsOf(row), expiresAtMs: row.expiresAtMs } : null;

/** Reports whether the text is a stored role: a role, and a space and a selector if the role is for some machines. */
export function isStoredRole(text: string): boolean {
  const { role, selector } = rightsOf({ role: text });
  const isSound = selector === undefined || parseOperatorSelector(selector).ok;
  return OPERATOR_ROLES.includes(role) && isSound;
}

function rightsOf(row: Pick<OperatorRow, "role">): Pick<NamedOperator, "role" | "selector"> {
  const [, role = "", selector] = /^(\w+)(?: (.*))?$/.exec(row.role) ?? [];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as createOperator or an import stored it
  return { role: role as OperatorRole, ...(selector !== undefined && { selector }) };
}

function listed(row: OperatorRow, nowMs: number): ListedOperator {
  const { name, createdBy, usedAtMs, revokedAtMs } = row;
  const at = (ms: number) => new Date(ms).toISOString();
  const ended = row.expiresAtMs <= nowMs ? "expired" : "valid";
  return {
    name,
    ...rightsOf(row),
    state: revokedAtMs === null ? ended : "revoked",
    createdAt: at(row.createdAtMs),
    createdBy,
    expiresAt: at(row.expiresAtMs),
    lastUsedAt: usedAtMs === null ? null : at(usedAtMs),
    ...(revokedAtMs !== null && { revokedAt: at(revokedAtMs) }),
  };
}
