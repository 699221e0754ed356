// The audit log: who changed what in the registry, and when. Written in the transaction of the change itself; holds
// no secret.
import * as z from "zod/mini";

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

export interface AuditEntry extends AuditRecord {
  id: number;
  /** RFC 3339. */
  at: string;
  detail: string;
}

/** The query of GET /v1/audit. */
export const auditQuerySchema = z.strictObject({
  /** Only what came before the entry of this ID: the next page. */
  before: z.optional(z.coerce.number().check(z.int(), z.minimum(1))),
  limit: z._default(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(1000)), 100),
});
export type AuditQuery = z.infer<typeof auditQuerySchema>;

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
export function readAudit(
  sql: SqlStorage,
  { before = null, limit }: { before?: number | null | undefined; limit: number },
): AuditEntry[] {
  const rows = sql.exec<{
    id: number;
    at_ms: number;
    who: string;
    what: AuditedAction;
    target: string;
    detail: string;
  }>("SELECT * FROM audit WHERE (? IS NULL OR id < ?) ORDER BY id DESC LIMIT ?", before, before, limit);
  return rows.toArray().map(({ at_ms, ...entry }) => ({ ...entry, at: new Date(at_ms).toISOString() }));
}
