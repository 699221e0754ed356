// The audit log: who changed what in the registry, and when. Written in the transaction of the change itself; holds
// no secret.
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import type { AuditQuery } from "../../shared/protocol/operator-api.ts";

export type AuditedAction =
  | "token.create"
  | "token.revoke"
  | "machine.enrol"
  | "machine.take-over"
  | "machine.wait"
  | "machine.approve"
  | "machine.reject"
  | "machine.rotate"
  | "machine.revoke"
  | "machine.leave"
  | "node.register"
  | "node.believe";

export interface AuditRecord {
  /** An operator (`admin secret`, `alice@example.com`), `token ID`, or `machine THUMBPRINT`. */
  who: string;
  what: AuditedAction;
  /** A Node's name, or a token's ID. */
  target: string;
  detail?: string;
}

type AuditRow = Omit<AuditEntry, "at"> & { at_ms: number };

export const MAX_AUDIT_ENTRIES = 100_000;
/** Old entries go in small portions, with an entry that comes. */
const PRUNED_AT_ONCE = 10;

export function audit(sql: SqlStorage, { who, what, target, detail = "" }: AuditRecord, nowMs: number): void {
  sql.exec(
    "INSERT INTO audit (at_ms, who, what, target, detail) VALUES (?, ?, ?, ?, ?)",
    nowMs,
    who,
    what,
    target,
    detail,
  );
  sql.exec(
    `DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT ?)
     AND id <= (SELECT MAX(id) FROM audit) - ?`,
    PRUNED_AT_ONCE,
    MAX_AUDIT_ENTRIES,
  );
}

/** Newest first. */
export function readAudit(sql: SqlStorage, { before, limit }: AuditQuery): AuditEntry[] {
  const rows = sql.exec<AuditRow>(
    "SELECT * FROM audit WHERE (? IS NULL OR id < ?) ORDER BY id DESC LIMIT ?",
    before ?? null,
    before ?? null,
    limit,
  );
  return rows.toArray().map(({ at_ms, ...entry }) => ({ ...entry, at: new Date(at_ms).toISOString() }));
}
